"""Routes of hooks."""
