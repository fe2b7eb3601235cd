"""Logins of agents at their vendors."""
