"""The typed Python client of the HTTP API, used by the command line. It prints nothing."""
