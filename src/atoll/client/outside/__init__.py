"""What the server reaches at the sites of others, over the API."""
