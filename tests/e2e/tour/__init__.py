"""A morning with five agents, as the tour shows it."""
