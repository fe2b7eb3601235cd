"""The MCP surface: tools for agents, on the official SDK, which is loaded when it is wanted."""
