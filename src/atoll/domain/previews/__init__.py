"""Previews: servers inside a sandbox, shown to people at origins of their own."""
