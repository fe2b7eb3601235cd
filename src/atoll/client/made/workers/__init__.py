"""Workers: the nouns of the client, made from the declarations of the API."""
