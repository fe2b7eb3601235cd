"""Contracts of backends: what every one of them keeps, and the optional abilities."""
