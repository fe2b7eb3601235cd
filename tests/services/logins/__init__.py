"""Logins of agents over a real store."""
