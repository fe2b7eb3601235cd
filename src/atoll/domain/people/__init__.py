"""Who is speaking: principals, logins and share links. Pure."""
