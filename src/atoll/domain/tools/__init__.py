"""Tools that agents call by MCP: their names, their permissions and their answers. Pure."""
