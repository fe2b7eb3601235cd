"""Approvals of what something in a sandbox requests. Pure."""
