"""Benchmarks: each figure beside its floor or peer, interleaved in one run.

`python -m bench` prints medians and p95; nothing here is a test, and nothing fails.
"""
