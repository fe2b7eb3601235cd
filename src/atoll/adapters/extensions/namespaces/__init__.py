"""Sandboxes of Linux namespaces on this machine, started by the zygote."""
