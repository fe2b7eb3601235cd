"""Snapshots of sandboxes, and forks."""
