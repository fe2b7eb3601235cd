"""Commands of the area `hosts`, each a file of its name."""
