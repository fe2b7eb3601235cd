"""The journal of one sandbox."""
