"""Routes of a sandbox's network, and of its secrets."""
