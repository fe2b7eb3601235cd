"""The namespaces of tools: one file each, found by `atoll.surfaces.mcp.toolbox`."""
