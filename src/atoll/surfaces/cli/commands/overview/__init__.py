"""Commands of the area `overview`, each a file of its name."""
