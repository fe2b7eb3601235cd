"""Snapshots of sandboxes, and what begins as one."""
