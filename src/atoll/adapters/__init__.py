"""Adapters: one folder per port, which connects it to the outside world."""
