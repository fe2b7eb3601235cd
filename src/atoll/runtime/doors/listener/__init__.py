"""Shared parts of both doors: the connection limit, own addresses and responses."""
