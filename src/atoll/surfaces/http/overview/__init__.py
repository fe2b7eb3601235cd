"""Routes of an overview: search, usage, every sandbox, and the health of this machine."""
