"""Commands of the area `approvals`, each a file of its name."""
