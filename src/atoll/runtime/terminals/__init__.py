"""Terminals of one sandbox: from the PTY to its viewers, who alone speak WebSocket."""
