"""Nouns of the awaited client, made from the declarations of the API by scripts/client."""
