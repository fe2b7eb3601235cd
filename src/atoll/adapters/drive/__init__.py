"""Drives of people at Google."""
