"""Request bodies and responses: fields, JSON, forms, streams."""
