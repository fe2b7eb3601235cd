"""Rows of hooks."""
