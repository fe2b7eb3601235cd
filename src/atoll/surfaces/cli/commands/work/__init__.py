"""Commands of daily work: sandboxes, their terminals and files."""
