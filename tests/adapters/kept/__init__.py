"""Kept worktrees on disk."""
