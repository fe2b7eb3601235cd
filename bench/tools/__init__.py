"""Figures of tools for agents (MCP)."""
