"""Metrics for Prometheus, and traces for OpenTelemetry. Loaded only where a setting asks."""
