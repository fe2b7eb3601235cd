"""Login providers."""
