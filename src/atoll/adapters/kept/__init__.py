"""Where worktrees are kept that outlive their sandbox."""
