"""Contracts of ports that send messages to others."""
