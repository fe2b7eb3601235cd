"""Hooks: addresses for the signed reports of other systems."""
