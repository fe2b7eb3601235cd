"""Forges: pull requests of what agents made."""
