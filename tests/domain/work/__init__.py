"""Tests of the work of sandboxes."""
