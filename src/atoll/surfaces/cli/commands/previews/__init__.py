"""Commands of the area `previews`, each a file of its name."""
