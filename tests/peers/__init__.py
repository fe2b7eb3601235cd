"""Faithful local peers that tests and benchmarks run against."""
