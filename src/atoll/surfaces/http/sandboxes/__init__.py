"""Routes of sandboxes and what they are made of."""
