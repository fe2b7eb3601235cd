"""Nouns of agents, blocking."""
