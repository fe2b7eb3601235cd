"""How a person's credentials are kept on this host: files of mode 0600, never their page copies."""
