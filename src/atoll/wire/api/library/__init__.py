"""Repositories and the work in them, a noun a module."""
