"""Rows of previews: what the use cases ask of the store."""
