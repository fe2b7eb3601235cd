"""A real Codex with a person's login: whole turns, tokens that live five seconds, none inside.

The issuer revokes a login whose token is used twice, and the vendor takes living tokens alone.
"""

import asyncio
import base64
import json
import os
import shlex
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from atoll.domain.agents.login_use import PLACEHOLDER_REFRESH
from atoll.testing.model_server import ModelServer, model_server
from atoll.testing.server import TestServer, test_server
from tests.peers.api import Pauses
from tests.peers.issuers.login_issuer import ACCOUNT, CLIENT, Issuer, login_issuer
from tests.peers.issuers.plan_vendor import PlanVendor, plan_vendor

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

KEY = "sk-canary-model-of-a-login-2b8f"
LIFE = 5
"""The seconds that an access token lives."""

MAX_FILE = 64 * 1024 * 1024
READ = """
cat /proc/*/environ /proc/*/cmdline 2>/dev/null; env
find "$HOME" /tmp /workspace /etc /dev/shm /run -type f -readable -exec cat {} + 2>/dev/null; true
"""
"""Reads what a program inside can read: environments, command lines, and files but the system's."""


@dataclass
class Scene:
    """A server whose people log in at a mock issuer, and call a mock vendor."""

    server: TestServer
    api: httpx.AsyncClient
    issuer: Issuer
    vendor: PlanVendor
    model: ModelServer


@asynccontextmanager
async def logged_in(provide: Callable[[TestServer, str], None], agent: str) -> AsyncIterator[Scene]:
    """A server with this agent, which nobody has logged in yet."""
    async with (
        login_issuer(life=LIFE, interval="1") as issuer,
        model_server(KEY) as model,
        plan_vendor(issuer, model) as vendor,
    ):
        context = test_server(start=False)
        server = await asyncio.to_thread(context.__enter__)
        try:
            (server.home / "config.toml").write_text(
                f'[upstreams]\nchatgpt = "{vendor.url}"\nclaude = "{vendor.url}"\n'
                f'[agent_issuers.{agent}]\nissuer = "{issuer.url}"\nclient_id = "{CLIENT}"\n'
            )
            provide(server, agent)
            await asyncio.to_thread(server.start)
            headers = {"Authorization": f"Bearer {server.token}"}
            async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=240) as api:
                yield Scene(server, api, issuer, vendor, model)
        finally:
            await asyncio.to_thread(context.__exit__, None, None, None)


async def log_in(scene: Scene, agent: str, page: str) -> str:
    """Log in by the command line, as a person does. Returns the id of the login."""
    command = asyncio.to_thread(scene.server.run, "agent", "login", agent, "--json")
    async with asyncio.TaskGroup() as tasks:
        logging_in = tasks.create_task(command)
        pauses = Pauses()
        while not scene.issuer.devices:
            assert not logging_in.done(), logging_in.result().stderr
            await pauses.wait()
        (waiting,) = scene.issuer.devices.values()
        scene.issuer.confirm(waiting.user_code)
    done = logging_in.result()
    assert done.returncode == 0, done.stderr
    assert f"{scene.issuer.url}{page} and enter the code {waiting.user_code}" in done.stderr
    shown = json.loads(done.stdout)
    assert (shown["status"], shown["in_use"]) == ("ready", False)
    return str(shown["id"])


async def shell(scene: Scene, box: str, line: str, **more: object) -> tuple[int, str]:
    """Run a line inside, as its agent would."""
    body = {"shell": line, "cwd": "/workspace", **more}
    answer = await scene.api.post(f"/v1/sandboxes/{box}/exec", json=body)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    said = base64.b64decode(told["stdout"]) + base64.b64decode(told["stderr"])
    return told["exit_code"], said.decode("latin-1")


async def turn(scene: Scene, box: str, words: str) -> str:
    """A whole turn of Codex. Returns its events."""
    line = f"codex exec --json --skip-git-repo-check {shlex.quote(words)} </dev/null"
    code, said = await shell(scene, box, line)
    assert code == 0 and '"turn.completed"' in said, said
    return said


async def restarted(scene: Scene, box: str) -> None:
    for act in ("stop", "start"):
        done = await scene.api.post(f"/v1/sandboxes/{box}/{act}?wait=true&timeout=120")
        assert done.is_success, done.text


def kept(scene: Scene) -> Iterator[Path]:
    """The files that the server keeps: database, logs and journals. Disks of sandboxes are read
    from inside: their images are too large to be read whole."""
    for folder, _, names in os.walk(scene.server.home.parent):
        for path in (Path(folder) / name for name in names):
            plain = path.is_file() and not path.is_symlink() and "/agents/" not in str(path)
            if plain and path.stat().st_size <= MAX_FILE:
                yield path


def no_token(scene: Scene, text: str, what: str) -> None:
    """No token that the issuer ever issued is in the text, nor the payload of one."""
    found = 0
    for token in scene.issuer.issued:
        _, *others = token.split(".")
        found += sum(part in text for part in (token, *others) if len(part) > 40)
    assert found == 0, what


async def test_codex_works_by_a_login_whose_tokens_stay_outside(
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    async with logged_in(provide_agent, "codex") as scene:
        login = await log_in(scene, "codex", "/codex/device")
        made = await scene.api.post("/v1/sandboxes?wait=ready", json={"agent": "codex"})
        assert made.status_code == 201, made.text
        box = made.json()["sandbox_id"]
        door = "http://127.0.0.1:8082/broker/chatgpt"
        assert "unknown_provider" in (await shell(scene, box, f"curl -s {door}/x"))[1]
        assert (await shell(scene, box, "test -e ~/.codex/auth.json"))[0] == 1
        on = await asyncio.to_thread(scene.server.run, "agent", "logins", "--on", login)
        assert on.returncode == 0, on.stderr
        await restarted(scene, box)

        said = await turn(scene, box, "[[say HELLO]]")
        assert "HELLO" in said
        await refreshed_amid_turns(scene, box)
        await refused_and_repeated(scene, box)
        await judged_at_the_door(scene, box, door)
        assert scene.issuer.reused == 0 and scene.vendor.sent <= set(scene.issuer.issued)

        _, inside = await shell(scene, box, READ, max_output_bytes=64 * 1024 * 1024)
        assert ACCOUNT in inside and PLACEHOLDER_REFRESH in inside
        no_token(scene, inside, "inside")
        events = await scene.api.get("/v1/events?limit=1000")
        no_token(scene, events.text, "events")
        files = list(kept(scene))
        assert any(login.encode() in path.read_bytes() for path in files)
        for path in files:
            no_token(scene, path.read_bytes().decode("latin-1"), str(path))

        out = await asyncio.to_thread(scene.server.run, "agent", "logout")
        assert out.returncode == 0 and scene.issuer.revoked, out.stderr
        assert "unknown_provider" in (await shell(scene, box, f"curl -s {door}/x"))[1]
        await restarted(scene, box)
        assert (await shell(scene, box, "test -e ~/.codex/auth.json"))[0] == 1
        assert "env_key" in (await shell(scene, box, "cat ~/.codex/config.toml"))[1]


async def refreshed_amid_turns(scene: Scene, box: str) -> None:
    """Turns go on while tokens are refreshed; a request under way outlives two refreshes."""
    before = scene.issuer.traded
    async with asyncio.TaskGroup() as tasks:
        held = tasks.create_task(turn(scene, box, "[[hold long]] [[say LATE]]"))
        while scene.issuer.traded < before + 3:
            assert "AGAIN" in await turn(scene, box, "[[say AGAIN]]")
        assert not held.done()
        scene.model.gates["long"].set()
    said = held.result()
    assert "LATE" in said and "Reconnecting" not in said


async def refused_and_repeated(scene: Scene, box: str) -> None:
    """A token that the vendor refuses is refreshed once, and Codex sees nothing of it."""
    before = scene.vendor.refused
    scene.vendor.refuse = 1
    said = await turn(scene, box, "[[say REPEATED]]")
    assert "REPEATED" in said and "Reconnecting" not in said
    assert scene.vendor.refused == before + 1


async def judged_at_the_door(scene: Scene, box: str, door: str) -> None:
    """The door passes the listed requests, and answers a refresh itself."""
    asked = len(scene.vendor.asked)
    for path in ("backend-api/ps/plugins/list", "backend-api/wham/settings/user", "oauth/revoke"):
        _, said = await shell(scene, box, f"curl -s -d x {door}/{path}")
        assert "not_allowed" in said, said
    _, said = await shell(scene, box, f"curl -s -d '{{}}' {door}/oauth/token")
    assert json.loads(said)["refresh_token"] == PLACEHOLDER_REFRESH
    assert len(scene.vendor.asked) == asked
    _, said = await shell(scene, box, f"curl -s {door}/backend-api/wham/accounts/check")
    assert ACCOUNT in said


async def test_claude_code_works_by_a_login_whose_tokens_stay_outside(
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    async with logged_in(provide_agent, "claude-code") as scene:
        login = await log_in(scene, "claude", "/device")
        on = await asyncio.to_thread(scene.server.run, "agent", "logins", "--on", login)
        assert on.returncode == 0, on.stderr
        made = await scene.api.post("/v1/sandboxes?wait=ready", json={"agent": "claude-code"})
        assert made.status_code == 201, made.text
        box = made.json()["sandbox_id"]
        line = "claude -p --dangerously-skip-permissions {} </dev/null"
        before = scene.issuer.traded
        while scene.issuer.traded < before + 2:
            code, said = await shell(scene, box, line.format("'[[say HELLO]]'"))
            assert (code, said.strip()) == (0, "HELLO")
        scene.vendor.refuse = 1
        code, said = await shell(scene, box, line.format("'[[say REPEATED]]'"))
        assert (code, said.strip()) == (0, "REPEATED") and scene.vendor.refuse == 0
        assert scene.issuer.reused == 0 and scene.vendor.sent <= set(scene.issuer.issued)
        _, inside = await shell(scene, box, READ, max_output_bytes=64 * 1024 * 1024)
        assert "atoll-placeholder-claude" in inside
        no_token(scene, inside, "inside")
