"""Storage of a person's credentials on this host: files of mode 0600, without page copies."""
