"""Policies of runtimes: composed from the store, and pushed when something changes."""
