"""Rows of workers."""
