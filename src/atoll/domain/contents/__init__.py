"""Contents: kept disk images, and the keys that seal them."""
