"""Figures of the database."""
