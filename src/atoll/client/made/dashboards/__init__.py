"""Nouns of dashboards, blocking."""
