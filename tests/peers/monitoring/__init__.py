"""Programs that read what Atoll measures."""
