"""Agents in sandboxes: control, configuration and resumption."""
