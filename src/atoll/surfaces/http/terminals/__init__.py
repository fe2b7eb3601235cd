"""Routes of terminals, commands and files."""
