"""Commands of the area `terminals`, each a file of its name."""
