"""Recordings of sandboxes that do not run any more: stopped and expired ones."""

import asyncio
import json
from pathlib import Path

import pytest

from atoll.testing.server import TestServer
from tests.e2e.terminals.test_recordings import type_at
from tests.peers.api import Api

SHORT = """\
id: profile.brief
version: "1.0.0"
extension: ext.namespaces
ttl: {default: 30s, max: 1h, retention: 1h}
"""
PROFILES = {"brief": SHORT}
NOT_FOUND_OR_CONFLICT = (3, 4)

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("end", ["stopped", "expired"])
async def test_recording_is_had_of_a_sandbox_that_does_not_run(
    server: TestServer, api: Api, tmp_path: Path, end: str
) -> None:
    box = f"recorded-{end}"
    profile = {"profile": "brief"} if end == "expired" else {}
    sandbox = api.create(name=box, **profile)["sandbox_id"]
    terminal = api.terminal(sandbox, "/bin/sh")
    recording = run(server, "record", box).strip()
    await type_at(api, sandbox, terminal, "echo kept $((40 + 2)) times\r", b"kept 42 times")
    run(server, "record", box, "--stop")
    await asyncio.to_thread(over, api, sandbox, end)
    listed = json.loads(run(server, "record", box, "--list", "--json"))["recordings"]
    assert [one["recording_id"] for one in listed] == [recording]
    file = tmp_path / "kept.cast"
    run(server, "record", box, "--export", recording, "-o", str(file))
    assert "kept 42 times" in file.read_text()
    assert "kept 42 times" in run(server, "search", box, "kept 42")
    begun = server.run("record", box)
    assert begun.returncode in NOT_FOUND_OR_CONFLICT, begun.stderr
    assert f" is {end}" in begun.stderr and "start" in begun.stderr, begun.stderr
    empty = server.run("record", box, "--export", "")
    assert empty.returncode == 2, empty.stderr
    assert "is empty" in empty.stderr and "Traceback" not in empty.stderr
    run(server, "record", box, "--delete", recording)
    assert json.loads(run(server, "record", box, "--list", "--json"))["recordings"] == []
    assert api.sandbox(sandbox)["state"] == end


def over(api: Api, sandbox: str, end: str) -> None:
    """Wait until the sandbox is as it is to be."""
    if end == "stopped":
        api.act(sandbox, "stop")
    api.until(sandbox, lambda told: told["state"] == end, 90)


def run(server: TestServer, *words: str) -> str:
    done = server.run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout
