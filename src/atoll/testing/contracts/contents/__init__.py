"""Contracts of what contents are made of, sealed by, and stored in."""
