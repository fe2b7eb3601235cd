"""Terminals of one sandbox: from the PTY to those who watch. HTTP is in `routes` and `attach`."""
