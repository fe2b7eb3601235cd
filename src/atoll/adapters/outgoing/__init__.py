"""Requests of this machine to addresses that somebody else named."""
