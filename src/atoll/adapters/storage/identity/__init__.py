"""Tables and rows of people who log in at a provider."""
