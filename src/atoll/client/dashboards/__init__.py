"""Dashboards over the API."""
