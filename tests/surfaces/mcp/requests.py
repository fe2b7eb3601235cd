"""Requests of both eras of the protocol, as bytes and headers."""

import json
from typing import Any

LEGACY, MODERN = "2025-11-25", "2026-07-28"
BOTH_ACCEPTED = "application/json, text/event-stream"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def headers_of(version: str, method: str = "", name: str = "", **more: str) -> dict[str, str]:
    """The headers of a request. In the newest revision they repeat the method and the name."""
    headers = {"Content-Type": "application/json", "Accept": BOTH_ACCEPTED}
    headers["MCP-Protocol-Version"] = version
    if version == MODERN:
        headers |= {"Mcp-Method": method} if method else {}
        headers |= {"Mcp-Name": name} if name else {}
    return headers | more


def body_of(version: str, method: str, **params: Any) -> dict[str, Any]:
    """The body of a request. In the newest revision it says by itself which revision it is."""
    told = {**params, "_meta": META} if version == MODERN else params
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": told}


def call_of(version: str, tool: str, arguments: str) -> bytes:
    """The body of a call whose arguments are this JSON, whatever it is."""
    body = json.dumps(body_of(version, "tools/call", name=tool, arguments="HERE"))
    return body.replace('"HERE"', arguments).encode()
