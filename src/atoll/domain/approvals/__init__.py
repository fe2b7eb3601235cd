"""Approvals of requests from inside a sandbox. Pure."""
