"""Nouns of logins by SSH, blocking."""
