"""Logins at a provider."""
