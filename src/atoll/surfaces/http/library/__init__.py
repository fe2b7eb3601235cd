"""Routes of repositories and the work in them."""
