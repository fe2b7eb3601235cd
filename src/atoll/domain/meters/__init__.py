"""Meters: what a sandbox used and what that costs, derived from the log. Pure."""
