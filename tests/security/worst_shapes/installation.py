"""A control plane in this process with everybody who may send it something, and a watch over it."""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import httpx

from atoll.wire.words.people import OrgRole
from tests.security.people import test_foreign_ids
from tests.security.worst_shapes.watch import (
    TRIES,
    Watch,
    answered,
    check,
    request,
    spoken,
    watched,
)
from tests.surfaces.http.dashboards.test_shares import _enter, _link
from tests.surfaces.http.people.test_tokens import _held
from tests.surfaces.http.world import World, client_of, world

NOBODY: Final = "nobody"
LOOKER: Final = "guest who looks"
DRIVER: Final = "guest who drives"
GUEST: Final = "guest of a dashboard"
SANDBOX: Final = "sandbox"
MEMBER: Final = "member"
ADMIN: Final = "admin"
OWNER: Final = "owner"
LOADING_SECONDS: Final = 120
"""The time in which the SDK of tools is loaded, beside other tests."""

PEOPLE: Final = (MEMBER, ADMIN, OWNER)
"""Those whose requests reach the routes of everything."""


@dataclass
class Installation:
    """A control plane with a sandbox and a dashboard of the owner's and of a member's, and the
    headers of each role. `ids` are those of what a role may act on, `answers` the statuses of the
    requests to each operation."""

    atoll: World
    watch: Watch
    roles: Mapping[str, list[str]]
    ids: Mapping[str, Mapping[str, str]]
    faults: list[str]
    answers: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    async def check(
        self, name: str, send: Callable[[], Awaitable[object]], tries: int = TRIES
    ) -> None:
        """Send something, and note what was wrong with how it was served."""
        found = await check(self.watch, name, send, tries)
        for fault in found:
            print(fault, flush=True)
        self.faults += found

    async def send(self, name: str, data: bytes, operation: str = "") -> None:
        """Send a request, to an operation where one is named."""

        async def ask() -> None:
            self.answers[operation].add(await answered(self.atoll.url, data))

        await self.check(name, ask)

    async def speak(
        self, name: str, target: str, role: str, data: bytes, tries: int = TRIES
    ) -> None:
        """Send bytes by a WebSocket."""
        send = partial(spoken, self.atoll.url, target, self.roles[role], [data])
        await self.check(f"{name}, to {target}, of {role}", send, tries)

    def target(self, path: str, role: str = OWNER) -> str:
        """Return a path of the documentation with ids of what a role may act on."""
        ids = self.ids.get(role, self.ids[OWNER])
        parts = path.split("/")
        return "/".join(ids.get(one[1:-1], "t_1") if one[:1] == "{" else one for one in parts)


@asynccontextmanager
async def installation() -> AsyncIterator[Installation]:
    """Run an installation, which notes its faults."""
    async with AsyncExitStack() as stack:
        atoll = await stack.enter_async_context(world())
        others = await test_foreign_ids._things(atoll)
        await others.team.join("ada", OrgRole.ADMIN)
        tokens = {OWNER: atoll.token, MEMBER: "token-of-ann", ADMIN: "token-of-ada"}
        ids = {role: {**others.ids, **await _own(atoll, one)} for role, one in tokens.items()}
        roles = {NOBODY: [], **await _guests(atoll, ids[OWNER])}
        held = await _held(atoll, ids[OWNER]["sandbox"])
        roles[SANDBOX] = [f"Authorization: Bearer {held.text}"]
        roles |= {role: [f"Authorization: Bearer {token}"] for role, token in tokens.items()}
        watch = await stack.enter_async_context(watched())
        made = Installation(atoll, watch, roles, ids, [])
        board = made.target("/v1/dashboards/{dashboard}/attach")
        await spoken(atoll.url, board, roles[OWNER], [])
        yield made
        assert await answered(atoll.url, request("GET", "/healthz")) == 200


async def _own(atoll: World, token: str) -> dict[str, str]:
    """Make what somebody acts on."""
    async with client_of(atoll.url, token, timeout=LOADING_SECONDS) as client:
        box = await _made(client, "/v1/sandboxes?wait=ready", {"profile": "shell"})
        board = await _made(client, "/v1/dashboards", {"name": "Board"})
        hook = await client.post("/v1/hooks", json={"source": "github", "name": "ours"})
        await client.post("/mcp", json={})  # loads the SDK
    own = {"source": "github", "hook": hook.json()["hook_id"]} if hook.is_success else {}
    return {
        "sandbox": box["sandbox_id"],
        "session": box["sandbox_id"],
        "dashboard": board["id"],
        **own,
    }


async def _made(client: httpx.AsyncClient, path: str, body: Mapping[str, str]) -> dict[str, str]:
    answer = await client.post(path, json=body)
    assert answer.status_code in {201, 202}, answer.text
    made: dict[str, str] = answer.json()
    return made


async def _guests(atoll: World, ids: Mapping[str, str]) -> dict[str, list[str]]:
    """Let guests in: who looks at a terminal, who drives one, and who looks at a dashboard."""
    secrets = {}
    async with client_of(atoll.url, atoll.token) as owner:
        for name, role in ((LOOKER, "viewer"), (DRIVER, "controller")):
            made = await owner.post(f"/v1/sandboxes/{ids['sandbox']}/shares", json={"role": role})
            assert made.status_code == 201, made.text
            secrets[name] = made.json()["link"].partition("#share=")[2]
    secrets[GUEST] = (await _link(atoll, ids["dashboard"]))[1]
    guests = {}
    for name, secret in secrets.items():
        told, headers = await _enter(atoll, secret)
        expected = "controller" if name == DRIVER else "viewer"
        assert told["guest"]["role"] == expected, told
        guests[name] = [f"{header}: {value}" for header, value in headers.items()]
    return guests
