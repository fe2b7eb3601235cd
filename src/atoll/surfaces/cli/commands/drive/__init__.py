"""Commands of the area `drive`, each a file of its name."""
