"""Issuers of agents' logins."""
