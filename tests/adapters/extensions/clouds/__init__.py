"""Suites that are the same for every cloud."""
