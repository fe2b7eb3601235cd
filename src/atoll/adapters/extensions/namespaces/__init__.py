"""Sandboxes of Linux namespaces on this machine, asked of the zygote."""
