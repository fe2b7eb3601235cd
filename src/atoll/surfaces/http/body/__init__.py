"""Reading requests and writing answers: fields, JSON, forms, streams."""
