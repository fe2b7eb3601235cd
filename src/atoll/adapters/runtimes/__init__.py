"""Connections of the control plane to runtimes."""
