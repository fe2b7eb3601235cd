"""Profiles: named, versioned recipes of sandboxes, and how their documents are read. Pure."""
