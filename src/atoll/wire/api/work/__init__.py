"""Declarations of the work in sandboxes."""
