"""Routes of people's drives."""
