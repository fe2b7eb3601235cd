"""A server whose providers are a scripted model server, for tests of real agents."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx
import pytest

from atoll.domain.broker.provider import PROVIDERS
from atoll.testing.agent_trial import CHOICES as CHOICES
from atoll.testing.agent_trial import TOOLS as TOOLS
from atoll.testing.model_server import ModelServer, model_server
from atoll.testing.server import TestServer, test_server
from tests.e2e.walls.test_rootless import person
from tests.peers.docker_daemon import IMAGE, DockerDaemon
from tests.protocol.answers import read_strictly

KEY = "sk-canary-e2e-7f3a9c1b5d2e8046"
Wall = DockerDaemon | Literal["rootless"] | None
"""Behind what sandboxes stand: containers of a daemon, namespaces of a person without rights, or
this machine's own wall."""

SECRET_ENV = "ATOLL_TEST_OIDC_SECRET"
"""Names the secret of Atoll at a login provider, for a `config`."""

PROFILE = f"id: profile.small\nversion: '1.0.0'\nextension: ext.docker\nimage: {IMAGE}\n"


def first_here(here: str, *others: str) -> pytest.MarkDecorator:
    """Run a test with one agent, and with others in `make test-agents` alone: what differs between
    them is tested elsewhere, and the rest of the path is the same."""
    slow = [pytest.param(name, marks=pytest.mark.slow) for name in others]
    return pytest.mark.parametrize("agent", [here, *slow])


@dataclass
class World:
    server: TestServer
    model: ModelServer
    api: httpx.AsyncClient


@asynccontextmanager
async def world(key: str, wall: Wall = None, config: str = "") -> AsyncIterator[World]:
    """Sandboxes are containers, where the wall is a daemon. `config` is what `config.toml` says."""
    async with model_server(KEY) as model:
        made = await asyncio.to_thread(_enter, keys_for(model, key), wall, config)
        context, server = made
        try:
            async with world_at(server, model) as found:
                yield found
        finally:
            await asyncio.to_thread(context.__exit__, None, None, None)


@asynccontextmanager
async def world_at(server: TestServer, model: ModelServer) -> AsyncIterator[World]:
    """The world of a server that runs."""
    async with httpx.AsyncClient(
        base_url=server.url,
        headers={"Authorization": f"Bearer {server.token}"},
        timeout=240,
        event_hooks={"response": [read_strictly]},
    ) as api:
        yield World(server, model, api)


def keys_for(model: ModelServer, key: str = KEY) -> str:
    """The text of a `keys.toml` where every provider is this model server."""
    tables = [f'[{name}]\nkey = "{key}"\nbase_url = "{model.url}"\n' for name in PROVIDERS]
    return "\n".join(tables)


def _enter(
    keys: str, wall: Wall, config: str
) -> tuple[AbstractContextManager[TestServer], TestServer]:
    if config:
        context = test_server({SECRET_ENV: "of-a-test"}, keys=keys, start=False)
        server = context.__enter__()
        (server.home / "config.toml").write_text(config)
        server.start()
        return context, server
    if not isinstance(wall, DockerDaemon):
        context = person(keys=keys) if wall == "rootless" else test_server(keys=keys)
        return context, context.__enter__()
    env = {"ATOLL_EXTENSIONS": "docker", "ATOLL_DOCKER_HOST": wall.host}
    context = test_server(env, keys=keys, start=False)
    server = context.__enter__()
    (server.home / "profiles").mkdir(exist_ok=True)
    (server.home / "profiles" / "small.yaml").write_text(PROFILE)
    server.start()
    return context, server


async def sandbox_for(
    world: World, agent: str, repository: Path, *more: str, said: str | None = None
) -> str:
    """Create a sandbox with `atoll new`, which reads `said` on its standard input."""
    words = ("new", str(repository), "--agent", agent, "--detach", "--json", *more)
    given = {} if said is None else {"input": said}
    done = await asyncio.to_thread(world.server.run, *words, **given)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["sandbox_id"])


async def run(world: World, sandbox: str, *argv: str, **more: object) -> tuple[int, bytes]:
    answer = await world.api.post(
        f"/v1/sandboxes/{sandbox}/exec", json={"argv": list(argv), "cwd": "/workspace", **more}
    )
    assert answer.status_code == 200, answer.text
    told = answer.json()
    return told["exit_code"], base64.b64decode(told["stdout"]) + base64.b64decode(told["stderr"])


async def forgotten(world: World) -> None:
    """Destroy every sandbox with the agents in it, and forget what the model was asked."""
    listed = (await world.api.get("/v1/sandboxes")).json()["sandboxes"]
    for one in listed:
        path = f"/v1/sandboxes/{one['sandbox_id']}/destroy?wait=true&timeout=120"
        done = await world.api.post(path)
        assert done.is_success, done.text
    world.model.forget()


async def until_asked(w: World, *words: str) -> None:
    """Wait until the model received a message with all words, in this order."""
    wanted = [json.dumps(one)[1:-1] for one in words]
    async with asyncio.timeout(90):
        while not any(_in_order(body, wanted) for body in list(w.model.bodies)):
            await w.model.asked.wait()
            w.model.asked.clear()


def _in_order(body: str, wanted: list[str]) -> bool:
    text = json.dumps(json.loads(body))
    places = [text.find(one) for one in wanted]
    return -1 not in places and places == sorted(places)
