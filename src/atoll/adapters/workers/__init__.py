"""Hosts of workers."""
