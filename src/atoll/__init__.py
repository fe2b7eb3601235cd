"""Atoll gives every coding agent its own sandbox and every person access to its terminal."""

__version__ = "0.1.0"
