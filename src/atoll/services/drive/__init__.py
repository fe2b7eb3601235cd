"""Files between people's drives and workspaces."""
