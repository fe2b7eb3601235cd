"""Checks of the rows of the logins of agents."""
