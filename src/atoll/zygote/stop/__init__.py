"""The stop of a sandbox."""
