"""Checks of the rows of hosts."""
