"""Rows of people who log in at a provider."""
