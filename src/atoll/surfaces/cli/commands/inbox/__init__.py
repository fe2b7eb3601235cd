"""Commands of the area `inbox`, each a file of its name."""
