"""Rows of hosts."""
