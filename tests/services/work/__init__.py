"""Tests of the use cases on work."""
