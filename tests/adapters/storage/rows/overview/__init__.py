"""Checks of the rows of an overview."""
