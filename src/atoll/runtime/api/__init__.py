"""All routes of a runtime."""
