"""The typed Python client of the HTTP API; the command line uses it. Nothing here prints."""
