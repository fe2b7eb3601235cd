"""Commands of the area `journals`, each a file of its name."""
