"""Places outside that the server reaches, over the API."""
