"""The broker door: an HTTP proxy that adds credentials to calls."""
