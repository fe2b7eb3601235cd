"""Checks of the rows of dashboards."""
