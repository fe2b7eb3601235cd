"""Checks of the rows of workers."""
