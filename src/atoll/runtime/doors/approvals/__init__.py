"""Approval requests from programs inside the sandbox."""
