"""Nouns of the blocking client, made from the declarations of the API by scripts/client."""
