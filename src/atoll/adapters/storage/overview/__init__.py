"""Tables and statements of an overview."""
