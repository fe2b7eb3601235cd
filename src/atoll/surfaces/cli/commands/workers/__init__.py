"""Commands of the area `workers`, each a file of its name."""
