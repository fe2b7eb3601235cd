"""The client's side of an attach session: what it knows of a terminal, its keys and its turn."""
