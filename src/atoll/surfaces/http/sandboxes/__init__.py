"""Routes of sandboxes, and of profiles, repositories and kept worktrees."""
