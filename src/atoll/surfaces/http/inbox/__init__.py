"""Routes of the inbox."""
