"""Dashboards: who may do what on one, and which changes its document accepts."""
