"""Connections of the two databases: how each is opened, and what a writing transaction is."""
