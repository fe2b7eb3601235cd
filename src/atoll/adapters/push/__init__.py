"""Push notifications to browsers: their encryption, their key, and the services that take them."""
