"""The contracts of metrics and traces."""
