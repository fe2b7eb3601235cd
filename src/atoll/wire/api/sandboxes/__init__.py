"""Declarations of sandboxes."""
