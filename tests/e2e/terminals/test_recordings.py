"""Marks, recordings, play and search as a person has them, through a whole Atoll."""

import json
import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest

from atoll.testing.server import TestServer, atoll_command, test_server
from tests.peers.api import Api
from tests.peers.terminal_client import attached

PROFILE = """
id: profile.kept
version: "1.0.0"
extension: ext.namespaces
recording: always
"""
SHELLS = ("bash", "zsh", "fish")
CANARY = b"canary-48151623"
SAY = "printf 'canary-%s\\n' 48151623\r"


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with test_server() as server:
        file = server.home.parent / "kept.yaml"
        file.write_text(PROFILE)
        done = server.run("profile", "save", str(file))
        assert done.returncode == 0, done.stderr
        api = Api(server)
        api.create(name="box")
        yield api
        api.client.close()


def until(api: Api, path: str, holds: Callable[[Any], bool]) -> Any:
    """What a path answers, once something holds of it."""
    give_up = time.monotonic() + 30
    while not holds(found := api.call("GET", path)):
        assert time.monotonic() < give_up, found
        time.sleep(0.02)
    return found


async def type_at(api: Api, box: str, terminal: str, keys: str, sees: bytes) -> None:
    """Type at a terminal, and wait for what it shows."""
    async with (
        aiohttp.ClientSession(headers=api.headers) as session,
        attached(session, api.attach_url(box, terminal), "me") as client,
    ):
        await client.type(keys.encode())
        await client.sees(sees, 30)


def on_disk(server: TestServer) -> list[str]:
    """The files of this Atoll that hold the canary, as text or in a recording. Images of
    workspaces are read, too: nothing was written into one."""
    found = []
    for path in server.home.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 30:
            with path.open("rb") as file:
                before = b""
                while piece := file.read(1 << 20):
                    if CANARY in before + piece:
                        found.append(str(path.relative_to(server.home)))
                        break
                    before = piece[-64:]
    return found


def at_a_terminal(server: TestServer, *words: str, keys: bytes, after: bytes) -> bytes:
    """All that a command shows at a terminal of its own; `keys` are typed once it shows `after`."""
    master, slave = pty.openpty()
    env = {**os.environ, "ATOLL_HOME": str(server.home), "TERM": "xterm-256color"}
    with subprocess.Popen(
        [atoll_command(), *words], stdin=slave, stdout=slave, stderr=slave, env=env
    ) as process:
        os.close(slave)
        seen = b""
        while select.select([master], [], [], 20)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                break
            if after in seen and keys:
                os.write(master, keys)
                keys = b""
        assert process.wait(10) == 0, seen
    os.close(master)
    return seen


@pytest.mark.parametrize("shell", SHELLS)
async def test_shell_in_a_sandbox_tells_of_its_commands(api: Api, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    terminal = api.terminal("box", shell)
    path = f"/v1/sandboxes/box/terminals/{terminal}/marks"
    await type_at(api, "box", terminal, "cd /tmp\r", b"Cwd=/tmp;")
    until(api, path, lambda page: [m["state"] for m in page["marks"]] == ["done"])
    await type_at(api, "box", terminal, "false\r", b"633;D;1;")
    page = until(api, path, lambda page: [m["state"] for m in page["marks"]] == ["done"] * 2)
    told = [(m["command"], m["cwd"], m["exit_code"], m["genuine"]) for m in page["marks"]]
    assert told == [("cd /tmp", "/workspace", 0, True), ("false", "/tmp", 1, True)]
    cards = api.call("GET", f"/v1/sandboxes/box/terminals/{terminal}/cards")["cards"]
    ran = [(c["data"]["command"], c["state"]) for c in cards if c["kind"] == "bash"]
    assert ran == [("cd /tmp", "done"), ("false", "failed")]
    api.call("DELETE", f"/v1/sandboxes/box/terminals/{terminal}")


async def test_terminal_is_on_disk_only_while_it_is_recorded(api: Api) -> None:
    server = api.server
    terminal = api.terminal("box", "bash")
    await type_at(api, "box", terminal, SAY, CANARY)
    assert on_disk(server) == []
    done = server.run("record", "box", "--terminal", terminal)
    assert done.returncode == 0, done.stderr
    recording = done.stdout.strip()
    shown = api.call("GET", f"/v1/sandboxes/box/terminals/{terminal}")
    assert shown["recording"] is True
    (file,) = on_disk(server)  # it begins with the screen as it is
    await type_at(api, "box", terminal, SAY + "echo two-$((1 + 1))\r", b"two-2")
    assert on_disk(server) == [file]
    assert file.endswith(f"/recordings/{recording}.cast")
    assert (server.home / file).stat().st_mode & 0o777 == 0o600
    assert server.run("record", "box", "--stop").stdout.strip() == recording
    assert recording in server.run("record", "box", "--list").stdout
    found = server.run("search", "box", "CANARY-4815").stdout
    assert terminal in found
    assert f"{recording} 0:" in found
    assert server.run("search", "box", "nothing-of-it").returncode == 1
    text = api.call("GET", f"/v1/sandboxes/box/terminals/{terminal}/text")["text"]
    assert CANARY.decode() in text.splitlines()

    out = server.home.parent / "out.cast"
    assert server.run("record", "box", "--export", recording, "-o", str(out)).returncode == 0
    assert json.loads(out.read_text().splitlines()[0])["version"] == 3
    assert out.stat().st_mode & 0o777 == 0o600
    shown = at_a_terminal(server, "play", str(out), "--idle-limit", "0.1", keys=b"", after=b"")
    assert CANARY in shown
    shown = at_a_terminal(
        server, "play", f"box:{recording}", "--speed", "0.1", keys=b"nq", after=b"\x1b["
    )
    assert b"\x1b[?25h" in shown

    done = server.run("record", "box", "--delete", recording)
    assert done.returncode == 0, done.stderr
    assert on_disk(server) == []
    api.call("DELETE", f"/v1/sandboxes/box/terminals/{terminal}")


async def test_profile_that_records_always_does_and_a_stop_keeps_it(api: Api) -> None:
    box = api.create(name="kept", profile="kept")["sandbox_id"]
    terminal = api.terminal("kept")
    await type_at(api, "kept", terminal, SAY, CANARY)
    (note,) = api.call("GET", "/v1/sandboxes/kept/recordings")["recordings"]
    assert (note["state"], note["principal"]) == ("recording", "profile")
    api.act("kept", "stop")
    api.act("kept", "start")
    (note,) = api.call("GET", "/v1/sandboxes/kept/recordings")["recordings"]
    assert note["state"] in {"stopped", "ended"}
    answer = api.client.get(f"/v1/sandboxes/kept/recordings/{note['recording_id']}")
    assert answer.headers["content-type"].startswith("application/x-asciicast")
    assert CANARY in answer.content
    kinds: set[str] = set()
    give_up = time.monotonic() + 30
    while not {"recording.started", "recording.ended"} <= kinds:
        assert time.monotonic() < give_up, kinds
        kinds = {event["event_type"] for event in api.events(box)}
    api.act("kept", "destroy")
    assert on_disk(api.server) == []


def test_guest_sees_marks_and_text_of_its_terminal_and_no_recording(api: Api) -> None:
    terminal = api.terminal("box", "sleep", "60")
    made = api.server.run("share", "box", "--terminal", terminal)
    ticket = made.stdout.strip().partition("#share=")[2]
    box = api.sandbox("box")["sandbox_id"]
    base = f"/v1/sandboxes/{box}/terminals/{terminal}"
    with httpx.Client(base_url=api.server.url, headers={"Origin": api.server.url}) as guest:
        entered = guest.post("/auth/guests", json={"ticket": ticket, "name": "Gil"})
        assert entered.is_success, entered.text
        guest.headers["Atoll-Page-Key"] = entered.json()["page_key"]
        assert guest.get(f"{base}/marks").status_code == 200
        assert guest.get(f"{base}/text").status_code == 200
        for method, path in (
            ("POST", f"{base}/recording"),
            ("DELETE", f"{base}/recording"),
            ("GET", f"/v1/sandboxes/{box}/recordings"),
            ("GET", f"/v1/sandboxes/{box}/search?q=a"),
        ):
            assert guest.request(method, path).status_code == 404, path
    api.call("DELETE", base)


def test_paths_in_ids_of_recordings_lead_nowhere(api: Api) -> None:
    for wanted in ("..%2f..%2ftoken", "rec_nope", "%2e%2e", "rec_a%00b"):
        answer = api.client.get(f"/v1/sandboxes/box/recordings/{wanted}")
        assert answer.status_code in {400, 404, 422}, (wanted, answer.text)


def test_file_that_is_no_recording_is_refused_by_play(api: Api, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello\n")
    done = api.server.run("play", str(tmp_path / "x"))
    assert (done.returncode, "terminal" in done.stderr) == (2, True)
