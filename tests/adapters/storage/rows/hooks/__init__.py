"""Checks of the rows of hooks."""
