"""Tests of the routes of work."""
