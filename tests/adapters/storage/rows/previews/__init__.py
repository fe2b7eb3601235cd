"""Contracts of rows of previews."""
