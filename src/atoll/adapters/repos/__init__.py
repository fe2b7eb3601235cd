"""Host-owned bare repositories."""
