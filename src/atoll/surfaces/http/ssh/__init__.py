"""Routes of SSH."""
