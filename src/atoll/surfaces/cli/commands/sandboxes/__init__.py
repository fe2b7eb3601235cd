"""Commands of the area `sandboxes`, each a file of its name."""
