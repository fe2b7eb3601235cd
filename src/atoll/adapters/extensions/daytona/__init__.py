"""Sandboxes on machines of Daytona, by its own library (the extra `daytona`)."""
