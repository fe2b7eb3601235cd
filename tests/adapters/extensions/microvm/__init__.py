"""Tests of `ext.microvm`."""
