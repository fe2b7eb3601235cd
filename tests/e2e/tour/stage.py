"""The place of the tour: scripted models, and a checkout that waits for pulls."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atoll.testing.server import atoll_command
from tests.e2e.agents.agent_world import KEY, World, world
from tests.e2e.tour.story import FILES, Task
from tests.peers.api import Pauses

PATIENCE_SECONDS = 240
_IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.invalid")


@dataclass
class Stage:
    """A world and the checkout of its person."""

    world: World
    checkout: Path

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.checkout), *_IDENTITY, *words],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    async def release(self, task: Task, turn: int = 1) -> None:
        """Let the model of a task answer, once its turn has a checkpoint: no model is so fast."""
        sandbox = (await self.sandbox_of(task))["sandbox_id"]
        async with asyncio.timeout(PATIENCE_SECONDS):
            pauses = Pauses()
            while True:
                told = await self.world.api.get(f"/v1/sandboxes/{sandbox}/checkpoints")
                if told.is_success and len(told.json()["checkpoints"]) >= turn:
                    break
                await pauses.wait()
        self.world.model.gates[task.branch if turn == 1 else f"{task.branch}-{turn}"].set()

    async def sandbox_of(self, task: Task) -> dict[str, Any]:
        """Return the sandbox of a task."""
        for sandbox in (await self.world.api.get("/v1/sandboxes")).json()["sandboxes"]:
            if any(repo["branch"] == task.branch for repo in sandbox["repos"]):
                return dict(sandbox)
        raise AssertionError(f"no sandbox works on {task.branch}")


@asynccontextmanager
async def stage(folder: Path, config: str = "") -> AsyncIterator[Stage]:
    """A server that knows the person's checkout, which waits for pulls."""
    async with world(KEY, config=config) as made:
        checkout = folder / "harbour"
        here = Stage(made, checkout)
        for name, text in FILES.items():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_text(text)
        subprocess.run(["git", "init", "-q", "-b", "main", str(checkout)], check=True)
        here.git("add", ".")
        here.git("commit", "-qm", "Begin")
        env = {**os.environ, "ATOLL_HOME": str(made.server.home), "NO_COLOR": "1"}
        waiting = await asyncio.create_subprocess_exec(
            atoll_command(), "pull", "--watch", "-C", str(checkout), env=env,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            assert waiting.stderr is not None
            said = await waiting.stderr.readline()
            assert b"waits" in said, said
            yield here
        finally:
            for gate in made.model.gates.values():
                gate.set()
            if waiting.returncode is None:
                waiting.terminate()
            await waiting.communicate()


async def known_repository(here: Stage) -> None:
    """The person has worked from the checkout before: the server knows it."""
    words = ("new", str(here.checkout), "first", "--detach", "--json")
    done = await asyncio.to_thread(here.world.server.run, *words)
    assert done.returncode == 0, done.stderr
    sandbox = json.loads(done.stdout)["sandbox_id"]
    path = f"/v1/sandboxes/{sandbox}/destroy?wait=true&timeout=120"
    assert (await here.world.api.post(path)).is_success
