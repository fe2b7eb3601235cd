"""Checks of the rows of the library."""
