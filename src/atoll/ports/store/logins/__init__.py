"""Rows of the logins of agents."""
