"""Commands of the area `webhooks`, each a file of its name."""
