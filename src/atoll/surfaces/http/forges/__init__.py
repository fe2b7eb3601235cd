"""Routes of forges."""
