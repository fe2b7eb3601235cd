"""Routes of where sandboxes go."""
