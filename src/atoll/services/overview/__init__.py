"""Use cases of an overview: search, usage, and every sandbox of an organization."""
