"""Ending a sandbox."""
