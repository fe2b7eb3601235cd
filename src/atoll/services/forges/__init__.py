"""Forges: pull requests of sandboxes, and the issues that their tasks begin with."""
