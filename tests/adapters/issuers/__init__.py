"""Adapters of issuers, against one on loopback."""
