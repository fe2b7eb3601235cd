"""Async use cases of the control plane: await ports, perform instructions, append events."""
