"""Declarations of dashboards."""
