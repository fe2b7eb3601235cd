"""Logins of agents at their vendors: how they begin, are kept fresh and end. Pure."""
