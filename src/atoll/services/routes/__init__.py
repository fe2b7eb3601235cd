"""Routes: candidates from what is installed and there, decisions, and what became of them."""
