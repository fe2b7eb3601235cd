"""The overview of an organization: its use over time, and a search over names and texts."""
