"""Terminals, commands, files and ports of a sandbox, forwarded to its runtime."""
