"""Twenty workers of a person share one login whose tokens live five seconds.

The issuer revokes a login whose token is used twice. Two of the workers are real Codex, the others
a small agent behind the same doors.
"""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, cast

import pytest

from atoll.client import Atoll
from atoll.client.workers.shapes import WorkerEvent
from atoll.domain.agents.login_use import PLACEHOLDER_REFRESH
from atoll.testing.server import TestServer
from tests.e2e.agents.test_agent_logins import READ, Scene, kept, log_in, logged_in, no_token, shell

pytestmark = [pytest.mark.agents, pytest.mark.slow, pytest.mark.timeout(600)]

REAL = ("codex-1", "codex-2")
SCRIPTED = tuple(f"small-{number}" for number in range(1, 19))
VERSION = "scripted"
REFRESHES = 10
"""The tokens that are issued while all work: each is renewed at half its life."""


def give_small_agent(server: TestServer) -> None:
    """Have the small agent as one more version of Codex."""
    place = server.home / "agents" / "codex" / VERSION / "bin"
    place.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("plan_agent.py"), place / "codex")
    (place / "codex").chmod(0o755)


class Ended(NamedTuple):
    """The end of a turn: its status, and what was said last."""

    status: str
    said: str


class Crowd:
    """The workers. `turns` are the ends of their turns, by worker."""

    def __init__(self, scene: Scene, atoll: Atoll) -> None:
        self.scene = scene
        self.atoll = atoll
        self.boxes: dict[str, str] = {}
        self.turns: dict[str, list[Ended]] = {}
        self.enough = asyncio.Event()

    async def start(self, name: str) -> None:
        """Have a worker, and note its sandbox."""
        body: Any = {"worker_id": name}
        if name in SCRIPTED:
            wanted = {"agent": f"codex@{VERSION}", "profile": "shell"}
            made = await self.scene.api.post("/v1/sandboxes?wait=ready", json=wanted)
            assert made.is_success, made.text
            body["workspace_ref"] = f"sandbox:{made.json()['sandbox_id']}/workspace"
        await self.atoll.workers.create(body)
        ready = await self.atoll.workers.ready(name)
        assert ready.sandbox is not None
        self.boxes[name] = ready.sandbox.id

    async def work(self, name: str) -> None:
        """Give a worker one turn after the other."""
        begun = cast("Any", await self.atoll.workers.result(name, "thread/start"))
        thread = begun["thread"]["id"]
        ended = self.turns[name] = []
        prompt = [{"type": "text", "text": "[[say WELL]]"}]
        followed = cast("AsyncGenerator[WorkerEvent, None]", self.atoll.workers.follow(name))
        async with aclosing(followed) as events:
            while not self.enough.is_set():
                params = {"threadId": thread, "input": prompt}
                await self.atoll.workers.result(name, "turn/start", params)
                said = ""
                async for event in events:
                    told = cast("Any", event.params)
                    assert event.method != "error", told
                    if event.method == "item/completed":
                        said = told["item"].get("text", "")
                    if event.method == "turn/completed":
                        ended.append(Ended(told["turn"]["status"], said))
                        break


async def test_twenty_workers_share_a_login_whose_tokens_live_five_seconds(
    provide_agent: Callable[[TestServer, str], None], summary: Callable[[str], None]
) -> None:
    async with logged_in(provide_agent, "codex") as scene:
        give_small_agent(scene.server)
        login = await log_in(scene, "codex", "/codex/device")
        on = await asyncio.to_thread(scene.server.run, "agent", "logins", "--on", login)
        assert on.returncode == 0, on.stderr
        async with Atoll(scene.server.url, scene.server.token) as atoll:
            crowd = Crowd(scene, atoll)
            await asyncio.gather(*map(crowd.start, (*REAL, *SCRIPTED)))
            since, before = monotonic(), scene.issuer.traded
            async with asyncio.TaskGroup() as tasks:
                for name in crowd.boxes:
                    tasks.create_task(crowd.work(name))
                await traded(scene, before + REFRESHES // 2)
                # The vendor takes the newest token no more, long before its end.
                scene.issuer.alive.pop(scene.issuer.issued[-1])
                await traded(scene, before + REFRESHES)
                crowd.enough.set()
            took, count = monotonic() - since, scene.issuer.traded - before
            assert scene.issuer.reused == 0 and not scene.issuer.revoked
            assert len(crowd.turns) == 20 and all(crowd.turns.values())
            ends = [end for turns in crowd.turns.values() for end in turns]
            assert [one for one in ends if one.status != "completed"] == []
            assert scene.vendor.refused and scene.vendor.sent <= set(scene.issuer.issued)
            real = sum(len(crowd.turns[name]) for name in REAL)
            summary(
                f"twenty workers, one login: {count} refreshes in {took:.0f} s, {len(ends)} turns"
                f" ({real} of real Codex), {len(scene.vendor.asked)} calls,"
                f" {scene.vendor.refused} refused and repeated, none reused, none failed"
            )
            await hunted(crowd)


async def traded(scene: Scene, count: int) -> None:
    """Wait until the issuer has issued tokens so often."""
    async with asyncio.timeout(240):
        while scene.issuer.traded < count:
            scene.vendor.called.clear()
            await scene.vendor.called.wait()


async def hunted(crowd: Crowd) -> None:
    """No token is inside, in events and streams, nor in the database, spools, journals and logs."""
    scene = crowd.scene
    with pytest.raises(AssertionError, match="found"):
        no_token(scene, f"text {scene.issuer.issued[-1]}", "found")
    for name, box in crowd.boxes.items():
        _, inside = await shell(scene, box, READ, max_output_bytes=64 * 1024 * 1024)
        assert PLACEHOLDER_REFRESH in inside
        no_token(scene, inside, f"inside {name}")
        events = await scene.api.get(f"/v1/workers/{name}/stream?cursor=0&tail_ms=0")
        assert "turn/completed" in events.text
        no_token(scene, events.text, f"stream of {name}")
    events = await scene.api.get("/v1/events?limit=1000")
    no_token(scene, events.text, "events")
    files = list(kept(scene))
    for part in ("atoll.db", "spool", "journal", ".log"):
        assert any(part in str(path) for path in files), part
    for path in files:
        no_token(scene, path.read_bytes().decode("latin-1"), str(path))
