"""Callers: principals, logins and share links. Pure."""
