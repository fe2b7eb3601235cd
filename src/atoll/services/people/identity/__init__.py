"""Logins of people at a provider: their sessions, and what the claims make them."""
