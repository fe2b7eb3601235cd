"""Tables and rows of hooks."""
