"""Checks of the rows of people and organizations."""
