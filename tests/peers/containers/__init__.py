"""Services in containers."""
