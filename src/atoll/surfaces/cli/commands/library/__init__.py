"""Commands of the area `library`, each a file of its name."""
