"""The MCP surface: tools for agents, on the official SDK, which is loaded at the first request."""
