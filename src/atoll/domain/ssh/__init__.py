"""SSH: who logs in to sandboxes by their own keys."""
