"""Nouns of hosts and routes, blocking."""
