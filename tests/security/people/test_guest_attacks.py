"""A guest with a link to watch one terminal, who tries everything else."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import aiohttp
import httpx
import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.terminals.test_turns import attach_with, guest, guest_by
from tests.peers.api import Api, api_of
from tests.places import ROOT

OPEN_TO_GUESTS = {
    ("get", "/auth/me"),
    ("get", "/auth/realms"),
    ("get", "/v1/me"),
    ("get", "/healthz"),
    ("get", "/.well-known/jwks.json"),
    ("get", "/.well-known/oauth-protected-resource"),
    ("get", "/readyz"),
    ("get", "/sessions/{session}/ptys"),
    ("get", "/v1/sandboxes/{sandbox}/terminals"),
    ("get", "/v1/sandboxes/{sandbox}/terminals/{terminal}"),
    ("get", "/v1/sandboxes/{sandbox}/terminals/{terminal}/cards"),
    ("get", "/v1/sandboxes/{sandbox}/terminals/{terminal}/marks"),
    ("get", "/v1/sandboxes/{sandbox}/terminals/{terminal}/text"),
    ("get", "/v1/ssh"),
    ("post", "/v1/sandboxes/{sandbox}/ssh/certificates"),
}
"""What a guest of one terminal may ask for: a certificate is for that terminal, in the guest's
role; nothing else of it changes anything."""
OPEN_TO_VISITORS = {
    ("get", "/auth/me"),
    ("get", "/auth/realms"),
    ("get", "/v1/me"),
    ("get", "/healthz"),
    ("get", "/.well-known/jwks.json"),
    ("get", "/.well-known/oauth-protected-resource"),
    ("get", "/readyz"),
    ("get", "/v1/dashboards/{dashboard}"),
    ("get", "/v1/dashboards/{dashboard}/comments"),
    ("get", "/v1/ssh"),
}
"""What a guest of a dashboard may ask for, where its link opens no terminals."""

ENTRANCES = {"/auth/guests", "/auth/invitations", "/auth/login", "/auth/logout"} | {
    *("/auth/cli", "/auth/cli/poll", "/auth/drive/callback"),
}
REFUSED = {401, 403, 404, 405}
FRAMES = (
    {"type": "request_control"},
    {"type": "grant_control", "to": "me"},
    {"type": "revoke_control"},
    {"type": "resize", "cols": 11, "rows": 7},
    {"type": "signal", "signal": "KILL"},
    {"type": "record", "on": True},
)


@dataclass(frozen=True)
class Scene:
    """A sandbox with a watched terminal and another one, a second sandbox, and the guest."""

    server: TestServer
    api: Api
    box: str
    watched: str
    hidden: str
    other: str
    other_terminal: str
    headers: dict[str, str]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with test_server() as server, api_of(server) as api:
        box, other = (api.create(name=name)["sandbox_id"] for name in ("box", "other"))
        watched, hidden = api.terminal(box, "cat"), api.terminal(box, "cat")
        headers = guest(api, server, "box", "Mallory", "--terminal", watched)
        there = api.terminal(other, "cat")
        yield Scene(server, api, box, watched, hidden, other, there, headers)


def test_every_route_is_closed_but_those_of_the_watched_terminal(scene: Scene) -> None:
    assert _answered(scene, scene.headers, "x") == OPEN_TO_GUESTS


def test_every_route_is_closed_to_a_guest_of_a_dashboard_but_a_look_at_it(scene: Scene) -> None:
    made = [scene.server.run("dashboard", "create", name).stdout.strip() for name in ("D", "E")]
    for board in made:
        linked = f"/v1/dashboards/{board}/sandboxes/{scene.box}"
        assert scene.api.call("POST", linked)["linked"] == [scene.box]
    link = scene.server.run("dashboard", "link", "D").stdout.strip()
    headers = guest_by(scene.api, scene.server, link, "Mallory")
    assert _answered(scene, headers, made[0]) == OPEN_TO_VISITORS
    with_another = {one for one in OPEN_TO_VISITORS if "{dashboard}" not in one[1]}
    assert _answered(scene, headers, made[1]) == with_another


def _answered(scene: Scene, headers: dict[str, str], dashboard: str) -> set[tuple[str, str]]:
    """Return the operations that a guest is not refused, with ids of what is there."""
    paths = json.loads((ROOT / "docs" / "openapi.json").read_text())["paths"]
    answered = set()
    with httpx.Client(base_url=scene.server.url, headers=headers, timeout=20) as client:
        for path in paths.keys() - ENTRANCES:
            url = _filled(path, scene.box, scene.watched, dashboard)
            for method in paths[path]:
                content = b"" if method == "get" else b"{}"
                with client.stream(method, url, content=content) as answer:
                    if answer.status_code not in REFUSED:
                        answered.add((method, path))
    return answered


def test_other_terminals_and_sandboxes_are_not_there(scene: Scene) -> None:
    with httpx.Client(base_url=scene.server.url, headers=scene.headers, timeout=20) as client:
        for sandbox, terminal in ((scene.box, scene.hidden), (scene.other, scene.other_terminal)):
            for _, path in OPEN_TO_GUESTS:
                if "{terminal}" in path:
                    answer = client.get(_filled(path, sandbox, terminal))
                    assert answer.status_code in REFUSED, (path, answer.text)
        listed = client.get(f"/v1/sandboxes/{scene.box}/terminals").json()["terminals"]
        assert [one["terminal_id"] for one in listed] == [scene.watched]
        listed = client.get(f"/sessions/{scene.box}/ptys").json()["ptys"]
        assert [one["pty_id"] for one in listed] == [scene.watched]
        assert client.get(f"/sessions/{scene.other}/ptys").status_code in REFUSED


async def test_sockets_of_anything_else_are_refused(scene: Scene) -> None:
    at = scene.server.url
    places = (
        f"/v1/sandboxes/{scene.box}/terminals/{scene.hidden}/attach",
        f"/v1/sandboxes/{scene.other}/terminals/{scene.other_terminal}/attach",
        f"/v1/sandboxes/{scene.box}/terminals/{scene.hidden}/cards",
        f"/v1/sandboxes/{scene.box}/ports/8082",
        f"/sessions/{scene.box}/ptys/{scene.hidden}/ws",
    )
    async with aiohttp.ClientSession(headers=scene.headers) as session:
        for place in places:
            assert await _refusal(session, at + place) in REFUSED, place


async def _refusal(session: aiohttp.ClientSession, url: str) -> int:
    """Return the status of a refusal: of the handshake, or of the close that follows at once."""
    try:
        async with session.ws_connect(url) as socket:
            first = await socket.receive(timeout=20)
            assert first.type is aiohttp.WSMsgType.CLOSE, first
            return int(first.data) - 4000
    except aiohttp.WSServerHandshakeError as refused:
        return refused.status


async def test_watcher_neither_types_nor_resizes_nor_takes_the_drive(scene: Scene) -> None:
    url = scene.api.attach_url(scene.box, scene.watched)
    owner = {"Authorization": f"Bearer {scene.server.token}"}
    # Query parameters that claim more are the guest's words only.
    claims = {"client": "mallory", "role": "owner", "principal": "person", "cols": "11"}
    async with (
        attach_with(url, owner, client="ada", cols="80", rows="24") as ada,
        attach_with(url, scene.headers, **claims) as mallory,
    ):
        await mallory.ws.send_bytes(b"evil\r")
        for frame in FRAMES:
            await mallory.ws.send_str(json.dumps(frame))
        await mallory.ws.send_bytes(b"evil\r")
        await ada.ws.send_bytes(b"good\r")
        await ada.sees(b"good\r\ngood")
        assert b"evil" not in ada.seen
        state = await asyncio.to_thread(
            scene.api.call, "GET", f"/v1/sandboxes/{scene.box}/terminals/{scene.watched}"
        )
        assert (state["cols"], state["rows"], state["recording"]) == (80, 24, False)
        assert state["state"] == "running"


def test_revoked_link_opens_nothing_any_more(scene: Scene) -> None:
    made = scene.server.run("share", "other", "--role", "controller").stdout.strip()
    secret = made.partition("#share=")[2]
    share = scene.server.run("share", "list", "other").stdout.splitlines()[1].split()[0]
    with httpx.Client(base_url=scene.server.url, headers={"Origin": scene.server.url}) as client:
        came = client.post("/auth/guests", json={"ticket": secret, "name": "Carl"})
        client.headers["Atoll-Page-Key"] = came.json()["page_key"]
        place = f"/v1/sandboxes/{scene.other}/terminals"
        assert client.get(place).status_code == 200
        assert scene.server.run("share", "rm", "other", share).returncode == 0
        assert client.get(place).status_code == 401
        again = client.post("/auth/guests", json={"ticket": secret, "name": "Carl"})
        assert again.status_code == 401
        assert "ask whoever invited you for a new one" in again.json()["detail"]
        assert client.post("/auth/invitations", json={"ticket": secret}).status_code == 401


def _filled(path: str, sandbox: str, terminal: str, dashboard: str = "x") -> str:
    known = {"sandbox": sandbox, "session": sandbox, "terminal": terminal, "pty": terminal}
    known["dashboard"] = dashboard
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], "x"), path)
