"""Nouns of logins by SSH, awaited."""
