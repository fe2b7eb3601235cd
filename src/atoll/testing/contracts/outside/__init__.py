"""Contracts of ports to services that others run: login providers and forges."""
