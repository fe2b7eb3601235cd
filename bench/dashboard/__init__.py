"""Dashboards in a browser."""
