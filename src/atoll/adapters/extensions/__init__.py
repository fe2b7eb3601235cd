"""Backends: where a sandbox comes from."""
