"""Routes of workers."""
