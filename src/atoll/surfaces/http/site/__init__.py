"""Routes beside the operations of nouns: the page, health, metrics, and metadata for clients."""
