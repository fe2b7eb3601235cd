"""Checks of the rows of tools' clients."""
