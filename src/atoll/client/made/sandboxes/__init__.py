"""Nouns of sandboxes, blocking."""
