"""Benchmarks of getting in by SSH."""
