"""Benchmarks of the control plane alone: no sandbox runs."""
