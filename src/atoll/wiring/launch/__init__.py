"""Atoll on this machine: its home, its processes, their start and end."""
