"""Commands of the area `hooks`, each a file of its name."""
