"""Approvals: requests from inside, and decisions of people."""
