"""The bridge of `atoll mcp`: messages on stdio to and from `/mcp`. It loads no SDK of MCP."""
