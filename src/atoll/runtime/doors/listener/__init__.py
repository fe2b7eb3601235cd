"""Shared parts of both doors: listeners, the connection limit and the audit of refusals."""
