"""Tables and rows of dashboards."""
