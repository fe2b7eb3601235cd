"""Routes of the work in sandboxes."""
