"""Logins of agents, without a clock or an issuer."""
