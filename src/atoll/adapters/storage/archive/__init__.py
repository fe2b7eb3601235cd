"""All rows of a database as one file: its format, its copies, and the database as a whole."""
