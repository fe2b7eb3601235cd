"""Tables and rows of workers."""
