"""Profiles, repositories and work that outlives a sandbox."""
