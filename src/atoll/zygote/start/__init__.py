"""The start of a sandbox."""
