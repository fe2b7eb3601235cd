"""Routes of tools."""
