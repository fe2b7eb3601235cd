"""Commands of the area `tools`, each a file of its name."""
