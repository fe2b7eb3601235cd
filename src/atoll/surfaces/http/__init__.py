"""The control plane's HTTP, WebSocket and SSE surface, and the page."""
