"""The process of the SSH gateway."""
