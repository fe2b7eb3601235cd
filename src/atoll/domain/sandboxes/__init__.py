"""A sandbox: its request, life cycle, interior and protection. Pure."""
