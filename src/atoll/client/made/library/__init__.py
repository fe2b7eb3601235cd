"""Nouns of repositories and the work in them, blocking."""
