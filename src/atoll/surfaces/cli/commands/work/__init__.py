"""Commands on the work in sandboxes."""
