"""Rows of dashboards, of their documents and of what was done to them."""
