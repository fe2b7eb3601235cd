"""A real Codex on a person's own machine: behind the local wall, and bare. The machine is somebody
without rights here, with a login and settings of Codex of their own."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.agents.install import install
from atoll.domain.agents.registry import find
from atoll.testing.server import atoll_command
from atoll.testing.stranger import Stranger
from tests.claims import claim_far_uid
from tests.e2e.agents.agent_world import KEY, World
from tests.e2e.agents.workers.test_workers import WRITE, asked, snapshot, stream, until
from tests.peers.api import Pauses
from tests.peers.remains import pids_of
from tests.places import ROOT

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

CONFIG = """\
model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
remote_plugin = false
apps = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
requires_openai_auth = true
request_max_retries = 1
stream_max_retries = 1
"""
UID = claim_far_uid()


@pytest.fixture(scope="module")
def codex() -> Path:
    """The program of Codex, installed once from the registry."""
    if shutil.which("npm") is None:
        pytest.skip("agents are installed by npm, which is not on this machine")
    layer = Path(install(ROOT / ".venv" / "agents", find("codex"), None, print).path)
    (program,) = layer.glob("node_modules/@openai/codex-linux-*/vendor/*/bin/codex")
    return program


@contextmanager
def machine(w: World, model_url: str) -> Iterator[tuple[Path, tuple[str, ...], dict[str, str]]]:
    """A person's machine: their home, the words to be them, and their environment."""
    with tempfile.TemporaryDirectory(prefix="atd", dir="/tmp") as name:
        top = Path(name)
        top.chmod(0o711)
        home, own = top / "h", top / "own"
        for folder in (home, own, own / ".codex"):
            folder.mkdir(mode=0o711)
        (own / ".codex" / "config.toml").write_text(CONFIG.format(url=model_url))
        login = {"auth_mode": "apikey", "OPENAI_API_KEY": KEY}
        (own / ".codex" / "auth.json").write_text(json.dumps(login))
        (own / ".codex" / "auth.json").chmod(0o600)
        before: tuple[str, ...] = ()
        if os.geteuid() == 0:
            for path in (home, own, own / ".codex", *(own / ".codex").iterdir()):
                os.chown(path, UID, UID)
            before = Stranger(UID, str(home)).words()
        env = {**os.environ, "HOME": str(own), "ATOLL_URL": w.server.url}
        env |= {"ATOLL_TOKEN": w.server.token, "XDG_DATA_HOME": str(own / "data")}
        env.pop("CODEX_HOME", None)
        yield own, before, env


async def present(w: World, process: "subprocess.Popen[bytes]", log: Path) -> dict[str, Any]:
    async with asyncio.timeout(60):
        pauses = Pauses()
        while True:
            assert process.poll() is None, log.read_text()
            (found,) = (await w.api.get("/v1/desktops")).json()["desktops"]
            if found["present"]:
                return dict(found)
            await pauses.wait()


@pytest.mark.parametrize("bare", [False, True], ids=["walled", "bare"])
async def test_codex_works_on_its_persons_machine_with_their_login(
    w: World, codex: Path, bare: bool
) -> None:
    port = w.model.url.rpartition(":")[2]
    url = f"http://127.0.0.1:{port}" if bare else f"http://host.atoll.internal:{port}"
    words = ["--bare"] if bare else ["--allow-port", port]
    assert (await w.api.put("/v1/desktops/laptop")).status_code in (200, 201)
    with machine(w, url) as (own, before, env):
        log = own.parent / "log"
        argv = [*before, atoll_command(), "desktop", "run", "laptop", "--codex", str(codex), *words]
        with log.open("wb") as out:
            process = subprocess.Popen(argv, env=env, stdout=out, stderr=out, cwd="/")
        try:
            there = await present(w, process, log)
            assert there["isolation"]["weak"] is True
            assert there["isolation"]["level"] == ("none" if bare else "container")
            await _works(w, own)
        finally:
            process.send_signal(signal.SIGTERM)
            code = await asyncio.to_thread(process.wait, 60)
            await w.api.delete("/v1/desktops/laptop")
        assert code == 0, log.read_text()
        assert "isolation: weak" in log.read_text()
        assert KEY not in log.read_text()
        if os.geteuid() == 0:
            await asyncio.to_thread(_nobody_is_left)


def _nobody_is_left() -> None:
    """The kernel ends what was inside the wall after init."""
    deadline = time.monotonic() + 20
    while left := pids_of(frozenset({UID})):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


async def _works(w: World, own: Path) -> None:
    name = f"desk-{own.parent.name}"
    made = await w.api.post(
        "/v1/workers",
        json={
            "worker_id": name,
            "execution_mode": "desktop",
            "teardown": {"policy": "immediate"},
        },
    )
    assert made.status_code == 201, made.text
    shown = await until(w, name, "running")
    assert (shown["backend"], shown["sandbox"]["host"]) == ("desktop", "laptop")
    assert shown["sandbox"]["isolation"]["weak"] is True
    thread = (await asked(w, name, "r1", "thread/start"))["thread"]["id"]
    input_ = [{"type": "text", "text": f"[[tool {WRITE}]]"}]
    await asked(w, name, "r2", "turn/start", threadId=thread, input=input_)
    events = await stream(w, name, "turn/completed")
    assert json.loads(events[-1]["payload"]["event"]["params"])["turn"]["status"] == "completed"
    place = own / "data" / "atoll" / "desktop" / "laptop" / "workers" / name
    assert (place / "workspace" / "made.txt").read_text() == "made\n"
    assert KEY not in json.dumps(events)
    await w.api.post(f"/v1/workers/{name}/stop", json={})
    events = await stream(w, name, "worker.torn_down")
    assert events[-1]["payload"]["torn_down"]["removed"] == [f"desktop:laptop/{name}"]
    assert not place.exists()
    assert (await snapshot(w, name))["status"] == "stopped"
