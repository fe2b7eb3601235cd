"""The list of what waits for a person, and its answers."""
