"""Commands of the area `logins`, each a file of its name."""
