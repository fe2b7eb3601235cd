"""Secrets: their names, purposes and allowed values. Pure."""
