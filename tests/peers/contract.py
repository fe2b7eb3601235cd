"""Answers of a runtime as JSON, one of each kind."""

from typing import Any

POLICY: dict[str, Any] = {"revision": 1, "providers": [], "customs": [], "network_mode": "none"}
MARK: dict[str, Any] = {
    "type": "mark", "seq": 1, "n": 1, "state": "done", "command": "ls", "cwd": "/workspace",
    "exit_code": 0, "started_at": "2026-01-01T00:00:00Z", "seconds": 0.1, "prompt": 0,
    "output": 5, "end": 9, "genuine": True,
}  # fmt: skip
RECORDING: dict[str, Any] = {
    "recording_id": "r_1", "session_id": "t_1", "name": "one", "state": "stopped", "by": "me",
    "principal": "p", "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:01Z",
    "seconds": 1.0, "bytes": 9, "commands": 1, "cols": 80, "rows": 24,
}  # fmt: skip
MATCH: dict[str, Any] = {
    "session_id": "t_1", "name": "one", "recording_id": None, "line": 1, "offset": 0,
    "seconds": None, "text": "here it is", "at": 0, "to": 4, "command": None,
}  # fmt: skip
SESSION: dict[str, Any] = {
    "session_id": "t_1",
    "name": "one",
    "argv": ["bash"],
    "cwd": "/workspace",
    "cols": 80,
    "rows": 24,
    "state": "running",
    "exit": None,
    "started_at": "2026-01-01T00:00:00Z",
    "title": "",
    "offset": 0,
    "ring_start": 0,
    "viewers": 0,
    "driver": None,
}
EXEC: dict[str, Any] = {
    "exec_id": "e_1",
    "argv": ["true"],
    "cwd": "/workspace",
    "state": "exited",
    "exit_code": 0,
    "signal": None,
    "timed_out": False,
    "started_at": "2026-01-01T00:00:00Z",
    "ended_at": "2026-01-01T00:00:01Z",
    "stdout": "",
    "stderr": "",
    "stdout_bytes": 0,
    "stderr_bytes": 0,
    "truncated": False,
}
AGENT: dict[str, Any] = {
    "id": "t_1",
    "agent": "codex",
    "mode": "tui",
    "agent_state": "running",
    "turn": "waiting",
    "watched": True,
    "softlock": "owner",
    "cards": 1,
    "started_at": "2026-01-01T00:00:00Z",
}
SETTINGS: dict[str, Any] = {
    "model": {"now": "a", "choices": [{"id": "a", "label": "A"}], "free": True},
    "permission_mode": None,
}
CARD: dict[str, Any] = {
    "v": 1,
    "seq": 1,
    "n": 1,
    "id": "c_1",
    "rev": 1,
    "kind": "text",
    "state": "done",
    "at": "2026-01-01T00:00:00Z",
    "title": "",
    "text": "hello",
    "data": {},
    "options": [],
    "cut": False,
}
CARDS: dict[str, Any] = {
    "type": "cards",
    "v": 1,
    "cards": [CARD],
    "seq": 1,
    "reset": True,
    "more": False,
    "dropped": 0,
    "agent": AGENT,
}
ENTRY: dict[str, Any] = {
    "name": "a",
    "path": "a",
    "type": "file",
    "size": 1,
    "mode": "0644",
    "mtime": "2026-01-01T00:00:00Z",
}
