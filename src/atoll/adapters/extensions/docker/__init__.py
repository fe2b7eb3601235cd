"""Sandboxes that are hardened containers of a Docker daemon on this machine."""
