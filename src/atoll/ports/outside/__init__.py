"""Ports to services that others run: login providers and forges."""
