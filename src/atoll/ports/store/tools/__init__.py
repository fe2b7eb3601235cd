"""Rows of tools' clients."""
