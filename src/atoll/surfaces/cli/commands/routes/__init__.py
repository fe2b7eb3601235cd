"""Commands of the area `routes`, each a file of its name."""
