"""Secrets: what they are called and for, and which values can be one. Pure."""
