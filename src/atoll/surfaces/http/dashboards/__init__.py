"""Routes of dashboards and the WebSocket of an open one."""
