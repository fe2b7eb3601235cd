"""Nouns of the work in sandboxes, blocking."""
