"""People: the nouns of the awaited client, made from the declarations of the API."""
