"""Implementations of the Clock port."""
