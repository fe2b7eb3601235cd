"""The broker door: calls leave here with their key."""
