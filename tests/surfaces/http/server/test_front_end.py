"""Headers that name a principal: believed from the front end alone."""

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
import websockets

from atoll.domain.errors import Invalid
from atoll.surfaces.http.server.connections.pending_connections import PendingConnections
from atoll.surfaces.http.server.front_end import FrontEnd, front_end
from atoll.surfaces.http.server.settings import ServerSettings
from atoll.wiring.control import serve
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, world

SECRET = "s" * 40
FROM_HERE = FrontEnd((ip_network("127.0.0.0/8"),), SECRET.encode())
FROM_ELSEWHERE = FrontEnd((ip_network("10.0.0.0/8"), ip_network("::1/128")), SECRET.encode())
KNOWN = ("X-Atoll-Front-End", SECRET)
ANN = ("X-OA-User-Id", "ann")

Headers = list[tuple[str, str]]


@pytest.fixture
async def behind() -> AsyncIterator[World]:
    async with world(front_end=FROM_HERE) as atoll:
        await team_of(atoll, ann="member", bob="member")
        yield atoll


async def _get(atoll: World, headers: Headers, path: str = "/v1/sandboxes") -> httpx.Response:
    async with httpx.AsyncClient(base_url=atoll.url, trust_env=False) as client:
        return await client.get(path, headers=headers)


async def _make(atoll: World, name: str, headers: Headers) -> httpx.Response:
    async with httpx.AsyncClient(base_url=atoll.url, trust_env=False) as client:
        return await client.post("/v1/sandboxes", json={"name": name}, headers=headers)


async def test_front_end_names_the_member_who_owns_what_is_made(behind: World) -> None:
    assert (await _make(behind, "box", [KNOWN, ANN])).status_code == 202
    listed = (await _get(behind, [KNOWN, ("x-oa-user-id", "ann")])).json()["sandboxes"]
    assert [one["name"] for one in listed] == ["box"]
    other = await _get(behind, [KNOWN, ("X-OA-USER-ID", "bob")])
    assert other.json()["sandboxes"] == []
    assert (await _get(behind, [KNOWN, ("X-OA-User-Id", "eve")])).status_code == 401


async def test_member_named_by_the_front_end_approves_nothing(behind: World) -> None:
    me = (await _get(behind, [KNOWN, ANN], "/v1/me")).json()
    assert (me["id"], me["interactive"]) == ("ann", False)


async def test_guest_scopes_see_their_own_and_have_no_secrets(behind: World) -> None:
    one, two = (KNOWN, ("X-OA-Guest-Scope", "g-1")), (KNOWN, ("X-OA-Guest-Scope", "g-2"))
    made = await _make(behind, "box", [*one])
    assert made.status_code == 202, made.text
    path = f"/v1/sandboxes/{made.json()['sandbox_id']}"
    assert (await _get(behind, [*one], path)).status_code == 200
    for others in ([*two], [KNOWN, ANN]):
        assert (await _get(behind, others, path)).status_code == 404
    events = (await _get(behind, [*two], "/v1/events")).json()["events"]
    assert events == []
    for closed in ("/v1/secrets", "/v1/approvals", "/v1/webhooks", "/v1/tokens"):
        assert (await _get(behind, [*one], closed)).status_code == 403


async def test_all_that_runs_is_stopped_by_who_runs_the_installation_alone(behind: World) -> None:
    """Those of guests, too: they are in no organization that anybody administers."""
    ids = {}
    for who in (("X-OA-Guest-Scope", "g-1"), ANN):
        made = (await _make(behind, "box", [KNOWN, who])).json()
        ids[made["sandbox_id"]] = who
    assert (await _get(behind, [KNOWN, ANN], "/v1/running")).status_code == 403
    home = [("Authorization", f"Bearer {behind.token}")]
    running = (await _get(behind, home, "/v1/running")).json()["sandboxes"]
    assert {one["sandbox_id"] for one in running} == set(ids)
    async with httpx.AsyncClient(base_url=behind.url, trust_env=False, headers=home) as client:
        for one in ids:
            path = f"/v1/running/{one}/stop"
            stopped = await client.post(path, params={"wait": "true", "timeout": 20})
            assert (stopped.status_code, stopped.json()["state"]) == (202, "stopped")
        assert (await client.post("/v1/running/sb_none/stop")).status_code == 404
    for one, who in ids.items():
        seen = await _get(behind, [KNOWN, who], f"/v1/sandboxes/{one}")
        assert (seen.json()["state"], seen.json()["generation"]) == ("stopped", 1)
    assert (await _get(behind, home, "/v1/running")).json()["sandboxes"] == []


SPOOFED: list[Headers] = [
    [ANN],
    [("X-Atoll-Front-End", "t" * 40), ANN],
    [("X-Atoll-Front-End", ""), ANN],
    [KNOWN, KNOWN, ANN],
    [("X-Atoll-Front-End", f"{SECRET}, {SECRET}"), ANN],
    [("X_OA_User_Id", "ann")],
    [("X-OA-Guest-Scope", "g-1")],
]
AMBIGUOUS: list[Headers] = [
    [KNOWN, ANN, ANN],
    [KNOWN, ANN, ("x-oa-user-id", "bob")],
    [KNOWN, ANN, ("X-OA-Guest-Scope", "g-1")],
    [KNOWN, ANN, ("X_OA_User_Id", "bob")],
    [KNOWN, ("X-OA-User-Id", "ann, bob")],
    [KNOWN, ("X_OA_User-Id", "ann")],
]


@pytest.mark.parametrize("headers", SPOOFED)
async def test_header_of_anybody_else_is_refused(behind: World, headers: Headers) -> None:
    answer = await _get(behind, headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "untrusted_front_end")
    # Also with a credential of its own: it must not be served as somebody other than it says.
    own = [*headers, ("Authorization", f"Bearer {behind.token}")]
    assert (await _get(behind, own)).status_code == 403


@pytest.mark.parametrize("headers", AMBIGUOUS)
async def test_ambiguous_headers_of_the_front_end_are_refused(
    behind: World, headers: Headers
) -> None:
    assert (await _get(behind, headers)).status_code == 401


async def test_front_end_sends_no_second_credential(behind: World) -> None:
    both = [KNOWN, ANN, ("Authorization", f"Bearer {behind.token}")]
    assert (await _get(behind, both)).status_code == 401
    foreign = [KNOWN, ANN, ("Origin", "https://evil.example")]
    assert (await _get(behind, foreign)).status_code == 403


async def test_address_is_that_of_the_connection_whatever_a_header_says() -> None:
    async with world(front_end=FROM_ELSEWHERE) as atoll:
        await team_of(atoll, ann="member")
        for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Client-IP"):
            claim = "for=10.0.0.1" if name == "Forwarded" else "10.0.0.1"
            assert (await _get(atoll, [KNOWN, ANN, (name, claim)])).status_code == 403


async def test_headers_mean_nothing_where_no_front_end_is_configured(atoll: World) -> None:
    assert (await _get(atoll, [KNOWN, ANN])).status_code == 401
    own = [KNOWN, ANN, ("Authorization", f"Bearer {atoll.token}")]
    assert (await _get(atoll, own, "/v1/me")).json()["id"] == "person"


async def test_websocket_is_judged_alike(behind: World) -> None:
    address = f"{behind.url.replace('http', 'ws', 1)}/v1/events/stream?after=0"
    async with asyncio.timeout(10):
        async with websockets.connect(address, additional_headers=[KNOWN, ANN]):
            pass
        for wrong in ([ANN], [KNOWN, ANN, ANN]):
            with pytest.raises(websockets.InvalidStatus):
                async with websockets.connect(address, additional_headers=wrong):
                    pass


def test_settings_of_a_front_end_are_both_there_and_safe(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    for wrong in (("nonsense",), ("0.0.0.0/0",), ("10.0.0.1/8",)):
        with pytest.raises(Invalid):
            ServerSettings(front_end_ranges=wrong, front_end_secret_file=str(file))
    for half in ({"front_end_ranges": ("10.0.0.1",)}, {"front_end_secret_file": "/s"}):
        with pytest.raises(Invalid, match="set both"):
            ServerSettings(**half)
    for text, mode, words in (("short", 0o600, "characters"), (SECRET, 0o604, "every user")):
        file.write_text(text)
        file.chmod(mode)
        with pytest.raises(Invalid, match=words):
            front_end(("10.0.0.1",), str(file))
    with pytest.raises(Invalid, match="cannot be read"):
        front_end(("10.0.0.1",), str(tmp_path / "none"))
    file.chmod(0o600)
    found = front_end(("10.0.0.1",), str(file))
    assert found is not None and found.secret == SECRET.encode()
    assert front_end((), None) is None


def test_real_server_takes_no_address_from_a_header() -> None:
    server = serve._server(object(), {"pending": PendingConnections()}, None)
    assert server.config.proxy_headers is False
