"""Storage of worktrees that outlive their sandbox."""
