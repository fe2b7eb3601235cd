"""Everything that waits for a person, as items of one list."""
