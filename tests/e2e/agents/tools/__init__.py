"""Real agents with the tools that a profile gives them."""
