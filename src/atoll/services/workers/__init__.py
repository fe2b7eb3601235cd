"""Workers: use cases, and what drives each of them."""
