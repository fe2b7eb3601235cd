"""Every field that gives more than its writer may have, written by everybody: made from two tables.

`FIELDS` has a request for each field that widens, `ROLES` everybody who can send one. Who is in a
field's row may write it; everybody else is refused, with the field where one is named. A new field
that widens gets a row.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import pytest

from atoll.domain.people.front_end import guest_of_scope
from atoll.surfaces.http.server.credentials import PAGE_KEY
from atoll.wire.words.events import ActorKind
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, client_of, world

HOME: Final = "the home's token"
HOME_PAT: Final = "a token of the home's person"
OWNER: Final = "owner"
ADMIN: Final = "admin"
MEMBER: Final = "member"
VIEWER: Final = "viewer"
MEMBER_PAT: Final = "a token of a member"
SERVICE: Final = "a service account"
FRONT_USER: Final = "a front end's member"
FRONT_GUEST: Final = "a front end's guest"
INSIDE: Final = "the token of a sandbox"
SHARED: Final = "a guest by a link"

ROLES: Final = (
    *(HOME, HOME_PAT, OWNER, ADMIN, MEMBER, VIEWER, MEMBER_PAT, SERVICE),
    *(FRONT_USER, FRONT_GUEST, INSIDE, SHARED),
)
THE_PERSON: Final = frozenset({HOME, HOME_PAT})
MAKERS: Final = THE_PERSON | {
    *(OWNER, ADMIN, MEMBER, MEMBER_PAT, SERVICE, FRONT_USER),
}
"""Those who make sandboxes as members of a team."""
WITH_GUESTS: Final = MAKERS | {FRONT_GUEST}
ADMINISTRATORS: Final = THE_PERSON | {OWNER, ADMIN}
NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True)
class Row:
    """A request that widens, who may send it, and by what the others are held; `{box}` is a sandbox
    of the sender's, `{own}` a name of its own."""

    method: str
    path: str
    body: Mapping[str, Any] = field(default_factory=dict)
    may: frozenset[str] = NOBODY
    field: str | None = None


def _create(**body: Any) -> tuple[str, str, dict[str, Any]]:
    return "POST", "/v1/sandboxes", body


def _switch(**body: Any) -> tuple[str, str, dict[str, Any]]:
    return "PUT", "/v1/sandboxes/{box}/network", body


def _profile(**body: Any) -> tuple[str, str, dict[str, Any]]:
    document = {"id": "profile.{own}", "version": "1.0.0", **body}
    return "PUT", "/v1/profiles/{own}", document


def _network(**part: Any) -> tuple[str, str, dict[str, Any]]:
    return _profile(network=part)


def _gateway(url: str) -> tuple[str, str, dict[str, Any]]:
    use = {"kind": "provider", "provider": "openai", "base_url": url}
    return "PUT", "/v1/secrets/{own}", {"value": "sk-correct-horse-battery", **use}


BOX = {"sandbox": "{box}"}
FIELDS: Final[Mapping[str, Row]] = {
    # The network: bounded by the installation, then by the organization.
    "create network_mode full": Row(*_create(network_mode="full"), THE_PERSON, "network.mode"),
    "create network_mode host-only": Row(
        *_create(network_mode="host-only"), THE_PERSON, "network.mode"
    ),
    "create accept_open_network": Row(
        *_create(route={"accept_open_network": True}), THE_PERSON, "route.accept_open_network"
    ),
    "worker accept_open_network": Row(
        *("POST", "/internal/v1/codex/workers"),
        {"worker_id": "{own}", "selection": {"accept_open_network": True}},
        THE_PERSON,
        "route.accept_open_network",
    ),
    "network mode full": Row(*_switch(mode="full"), THE_PERSON, "network.mode"),
    "network mode host-only": Row(*_switch(mode="host-only"), THE_PERSON, "network.mode"),
    "network host_ports": Row(
        *_switch(mode="host-only", host_ports=[5432]), THE_PERSON, "network.mode"
    ),
    "network ranges": Row(
        *_switch(mode="host-only", ranges=["10.1.0.0/16"]), THE_PERSON, "network.mode"
    ),
    "network allow": Row(*_switch(allow=["docs.example.com"]), MAKERS, "network.allow"),
    "network allow a port": Row(*_switch(allow=["mail.example.com:465"]), MAKERS, "network.allow"),
    "network allow a preset": Row(*_switch(allow=["preset:pypi"]), MAKERS, "network.allow"),
    "network narrower": Row(*_switch(mode="none", deny=["a.example"]), WITH_GUESTS),
    "profile network.mode full": Row(*_network(mode="full"), THE_PERSON, "network.mode"),
    "profile network.mode host-only": Row(*_network(mode="host-only"), THE_PERSON, "network.mode"),
    "profile network.host_ports": Row(
        *_network(host_ports=[5432]), THE_PERSON, "network.host_ports"
    ),
    "profile network.ranges": Row(*_network(ranges=["10.1.0.0/16"]), THE_PERSON, "network.ranges"),
    "profile network.ports": Row(*_network(ports=[8443]), THE_PERSON, "network.ports"),
    "profile network.egress": Row(*_network(egress=["api.example.com"]), MAKERS),
    # Files of the server: bounded by `mount_roots`, or by the grant of the person at the machine.
    "create mounts": Row(
        *_create(mounts=[{"source": "/srv/data", "target": "/mnt/data"}]),
        NOBODY,
        "mounts[0].source",
    ),
    "create mounts by a made-up grant": Row(
        *_create(mounts=[{"source": "/etc", "target": "/mnt/etc", "grant": "0" * 32}]), NOBODY
    ),
    # What a profile lets its own sandbox do: behind its wall, within quotas and `max_sandboxes`.
    "profile image": Row(*_profile(image="debian:12"), MAKERS),
    "profile image of the server's loopback": Row(
        *_profile(image="localhost:5000/a"), THE_PERSON, "image"
    ),
    "profile image of its hosts file": Row(
        *_profile(image="ip6-localhost:5000/a"), THE_PERSON, "image"
    ),
    "profile image of a name below localhost": Row(
        *_profile(image="a.localhost:5000/a"), THE_PERSON, "image"
    ),
    "profile image of a name in capitals, which Docker takes for a host": Row(
        *_profile(image="LOCALHOST/a"), THE_PERSON, "image"
    ),
    "profile image of its LAN": Row(*_profile(image="10.1.2.3:5000/a"), THE_PERSON, "image"),
    "profile root": Row(*_profile(root="overlay"), MAKERS),
    "profile safety.sudo": Row(*_profile(safety={"sudo": [["/usr/bin/apt-get"]]}), MAKERS),
    "profile safety.debug": Row(*_profile(safety={"debug": True}), MAKERS),
    "profile ttl.max": Row(*_profile(ttl={"max": "365d"}), MAKERS),
    "profile resources": Row(*_profile(resources={"cpu": 64, "memory_mb": 262144}), MAKERS),
    "profile mcp.tools": Row(*_profile(mcp={"tools": {"atoll.destroy": "allow"}}), MAKERS),
    "profile mcp.children": Row(*_profile(mcp={"children": {"live": 20}}), MAKERS),
    # `isolation` asks for a wall of at least this; the installation's `require_isolation` holds.
    "profile isolation": Row(*_profile(isolation={"level": "none"}), MAKERS),
    "profile beyond all bounds": Row(
        *_profile(mcp={"children": {"live": 1000, "per_hour": 1000}}), NOBODY
    ),
    "create ttl": Row(*_create(ttl="3650d"), NOBODY, "ttl"),
    "extend ttl": Row("POST", "/v1/sandboxes/{box}/extend_ttl", {"ttl": "3650d"}, NOBODY),
    "create agent_catalogue": Row(
        *_create(agent_catalogue=["codex"], profile="codex"), WITH_GUESTS
    ),
    "create loopback repository": Row(
        *_create(repos=[{"repo_url": "http://127.0.0.1:5432/x"}]), NOBODY
    ),
    # Bounds and rules of everybody: of administrators.
    "quota": Row("PUT", "/v1/organizations/acme/quotas", {"sandboxes": 1000}, ADMINISTRATORS),
    "bounds of networks": Row(
        "PUT", "/v1/organizations/acme/network", {"full": True}, ADMINISTRATORS
    ),
    "a role": Row("PATCH", "/v1/organizations/acme/members/zoe", {"role": "admin"}, ADMINISTRATORS),
    "secret of the organization": Row(
        *("PUT", "/v1/secrets/{own}"),
        {"value": "correct-horse-battery", "scope": "organization", "env": "A_TOKEN"},
        ADMINISTRATORS,
    ),
    "secret put inside": Row(
        *("PUT", "/v1/secrets/{own}"),
        {"value": "correct-horse-battery", "broker_protected": False, "env": "A_TOKEN"},
        MAKERS - {SERVICE},
    ),
    # A gateway in place of a model provider: the broker dials it for whoever is inside.
    "secret for a gateway of the server's loopback": Row(
        *_gateway("http://127.0.0.1:5432"), THE_PERSON, "base_url"
    ),
    "secret for a gateway of its hosts file": Row(
        *_gateway("https://ip6-localhost"), THE_PERSON, "base_url"
    ),
    "secret for a gateway of its LAN": Row(*_gateway("https://10.1.2.3"), THE_PERSON, "base_url"),
    "secret for a gateway of a cloud's credentials": Row(
        *_gateway("https://169.254.169.254"), NOBODY, "base_url"
    ),
    "secret for a public gateway": Row(
        *_gateway("https://gateway.example.com"), MAKERS - {SERVICE}
    ),
    "an organization": Row("POST", "/v1/organizations", {"slug": "{own}"}, THE_PERSON),
    # Tokens: never more than their maker has, and no longer.
    "token with system.manage": Row(
        "POST", "/auth/pat", {"name": "t", "capabilities": ["system.manage"]}, THE_PERSON
    ),
    "token of ten years": Row("POST", "/auth/pat", {"name": "t", "ttl": "3650d"}, NOBODY),
}


@dataclass
class Cast:
    """Everybody: the credential of each role, and a sandbox of theirs where they may have one."""

    team: Team
    tokens: dict[str, str] = field(default_factory=dict)
    boxes: dict[str, str] = field(default_factory=dict)
    guest: str = ""


async def cast_of(atoll: World) -> Cast:
    """Make everybody, and a sandbox for each who may make one."""
    team = await team_of(atoll, olga="owner", ada="admin", mel="member", vic="viewer", zoe="viewer")
    await team.join("ci", kind=ActorKind.AUTOMATION)
    front = await team.join("flo")
    cast = Cast(team)
    team.people["token-of-flo"] = front
    team.people["token-of-guest"] = guest_of_scope("table-four")
    cast.tokens = {
        HOME: atoll.token,
        OWNER: "token-of-olga",
        ADMIN: "token-of-ada",
        MEMBER: "token-of-mel",
        VIEWER: "token-of-vic",
        SERVICE: "token-of-ci",
        FRONT_USER: "token-of-flo",
        FRONT_GUEST: "token-of-guest",
    }
    for role, maker in ((HOME_PAT, HOME), (MEMBER_PAT, MEMBER)):
        async with client_of(atoll.url, cast.tokens[maker]) as client:
            made = await client.post("/auth/pat", json={"name": "agent"})
            cast.tokens[role] = made.json()["token"]
    for role, token in cast.tokens.items():
        async with client_of(atoll.url, token) as client:
            name = f"box-{len(cast.boxes)}"
            made = await client.post("/v1/sandboxes?wait=ready", json={"name": name})
            cast.boxes[role] = made.json().get("sandbox_id", "sb_none")
    await _bounded_credentials(cast)
    return cast


async def _bounded_credentials(cast: Cast) -> None:
    """Make a token for one sandbox, and a guest by a link to it."""
    atoll, box = cast.team.atoll, cast.boxes[HOME]
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/auth/pat", json={"name": "inside", "sandbox_id": box})
        cast.tokens[INSIDE], cast.boxes[INSIDE] = made.json()["token"], box
        link = await client.post(f"/v1/sandboxes/{box}/shares", json={"role": "controller"})
        secret = link.json()["link"].rpartition("=")[2]
        entered = await client.post("/auth/guests", json={"ticket": secret, "name": "Gus"})
        assert entered.status_code == 201, entered.text
        cast.boxes[SHARED], cast.guest = box, entered.cookies["atoll_guest"]


@asynccontextmanager
async def _client(cast: Cast, role: str) -> AsyncIterator[httpx.AsyncClient]:
    atoll = cast.team.atoll
    async with client_of(atoll.url, cast.tokens.get(role)) as client:
        if role == SHARED:
            client.cookies["atoll_guest"] = cast.guest
            client.headers[PAGE_KEY] = atoll.logins.page_key(cast.guest)
        yield client


async def _sent(cast: Cast, role: str, row: Row, number: int) -> httpx.Response:
    own = f"own-{number}-{ROLES.index(role)}"
    names = {"{box}": cast.boxes[role], "{own}": own}
    path, text = row.path, json.dumps(row.body)
    for name, value in names.items():
        path, text = path.replace(name, value), text.replace(name, value)
    async with _client(cast, role) as client:
        return await client.request(row.method, path, json=json.loads(text))


@pytest.fixture
async def cast() -> AsyncIterator[Cast]:
    async with world(max_sandboxes=500) as atoll:
        yield await cast_of(atoll)


async def test_every_field_that_widens_is_bounded_for_everybody(cast: Cast) -> None:
    wrong = []
    for number, (name, row) in enumerate(FIELDS.items()):
        for role in ROLES:
            answer = await _sent(cast, role, row, number)
            status = answer.status_code
            if (status < 300) is not (role in row.may):
                wrong.append(f"{name} by {role}: {status} {answer.text[:200]}")
            elif status == 403 and row.field and role in MAKERS | {FRONT_GUEST}:
                told = answer.json()
                if told["code"] != "forbidden" and told.get("field") != row.field:
                    wrong.append(f"{name} by {role} names {told.get('field')}")
    assert not wrong, "\n".join(wrong)


def test_every_role_is_in_the_table() -> None:
    """A row that names somebody who is not there would say nothing."""
    for row in FIELDS.values():
        assert row.may <= set(ROLES)
