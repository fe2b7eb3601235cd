"""opencode: its events as cards. Pure."""
