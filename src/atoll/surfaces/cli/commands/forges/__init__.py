"""Commands of the area `forges`, each a file of its name."""
