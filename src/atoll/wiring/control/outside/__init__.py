"""Services over the sites of others."""
