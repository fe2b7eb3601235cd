"""A sandbox: its request, its life, what it looks like inside, and what protects it. Pure."""
