"""Commands of the area `dashboards`, each a file of its name."""
