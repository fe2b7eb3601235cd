"""Contents: kept streams of bytes, the keys that seal them, and where they are cut."""
