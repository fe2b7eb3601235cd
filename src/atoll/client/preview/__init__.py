"""Previews over the API, for the command that uses them."""
