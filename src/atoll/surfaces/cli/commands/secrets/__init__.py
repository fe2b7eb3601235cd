"""Commands of the area `secrets`, each a file of its name."""
