"""Share links of dashboards: who makes them, what a guest sees, and how a visit ends."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from atoll.surfaces.http.server.credentials import PAGE_KEY
from atoll.wire.words.people import MAX_SHARES, OrgRole
from tests.surfaces.http.dashboards.tab import Tab, item_id
from tests.surfaces.http.team import Team
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/dashboards/{dashboard}/shares": {
        "ttl": "test_link_that_expires_or_is_revoked_closes_what_its_guests_have_open",
        "name": "test_guest_sees_the_dashboard_live_and_changes_nothing",
        "terminals": "test_guest_sees_the_dashboard_live_and_changes_nothing",
    },
}


async def _board(atoll: World, **body: object) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/dashboards", json={"name": "Plan", **body})
        return str(made.json()["id"])


async def _link(atoll: World, board: str, **body: object) -> tuple[dict[str, Any], str]:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post(f"/v1/dashboards/{board}/shares", json=body)
        assert made.status_code == 201, made.text
        return made.json(), made.json()["link"].partition("#share=")[2]


async def _enter(
    atoll: World, secret: str, **body: object
) -> tuple[dict[str, Any], dict[str, str]]:
    """The answer, and the headers of the guest."""
    async with client_of(atoll.url) as client:
        told = await client.post("/auth/guests", json={"ticket": secret, **body})
        assert told.status_code == 201, told.text
        cookie = told.cookies["atoll_guest"]
    key = atoll.services.logins.page_key(cookie)
    return told.json(), {
        "Cookie": f"atoll_guest={cookie}", PAGE_KEY: key, "Origin": atoll.url,
    }  # fmt: skip


@asynccontextmanager
async def _both(
    atoll: World, board: str, headers: dict[str, str]
) -> AsyncIterator[tuple[Tab, Tab]]:
    """The owner's tab and the guest's."""
    ann, guest = Tab(), Tab()
    async with (
        ann.joined(atoll.url, board, atoll.token),
        guest.joined(atoll.url, board, headers=headers),
    ):
        yield ann, guest


async def test_guest_sees_the_dashboard_live_and_changes_nothing(atoll: World) -> None:
    board, other = await _board(atoll), await _board(atoll, scope="shared")
    share, secret = await _link(atoll, board, name="for Carl", terminals=True)
    assert (share["name"], share["terminals"], share["guests"]) == ("for Carl", True, 0)
    async with client_of(atoll.url) as client:
        offer = (await client.post("/auth/invitations", json={"ticket": secret})).json()
        assert (offer["dashboard_name"], offer["sandbox_name"]) == ("Plan", None)
    told, headers = await _enter(atoll, secret, name="Carl")
    assert (told["guest"]["dashboard_id"], told["guest"]["terminals"]) == (board, True)
    assert (told["guest"]["sandbox_id"], told["guest"]["role"]) == (None, "viewer")
    async with _both(atoll, board, headers) as (ann, guest):
        assert (await guest.told("welcome"))["role"] == "viewer"
        ann.add(1, "hello")
        await ann.saved()
        await guest.until(lambda: item_id(1) in guest.items)
        guest.items[item_id(1)]["x"] = 99
        assert (await guest.told("refused"))["code"] == "forbidden"
        await guest.present(1, {"cursor": {"x": 1, "y": 2}, "drag": {"ids": [item_id(1)]}})
        await ann.until(lambda: guest.client in ann.presences)
        seen = json.loads(ann.presences[guest.client].state)
        assert seen["user"]["name"] == "guest Carl"
        assert seen["cursor"] == {"x": 1, "y": 2} and "drag" not in seen
        async with client_of(atoll.url) as client:
            client.headers.update(headers)
            place = f"/v1/dashboards/{board}"
            assert (await client.get(place)).json()["role"] == "viewer"
            assert (await client.get(f"{place}/comments")).json()["comments"] == []
            comment = {"item_id": item_id(1), "text": "hi"}
            for path in (f"{place}/comments", f"{place}/shares", f"{place}/copy"):
                assert (await client.post(path, json=comment)).status_code == 404
            for path in (place + "/people", place + "/history", "/v1/dashboards"):
                assert (await client.get(path)).status_code == 404
            for path in (f"/v1/dashboards/{other}", f"/v1/dashboards/{other}/comments"):
                assert (await client.get(path)).status_code == 404
        assert ann.items[item_id(1)]["x"] == 1
    async with client_of(atoll.url, atoll.token) as client:
        listed = (await client.get(f"/v1/dashboards/{board}/shares")).json()["shares"]
        assert [one["guest_names"] for one in listed] == [["Carl"]]
        events = (await client.get("/v1/events?limit=1000")).text
        assert "dashboard.share_created" in events and "dashboard.share_entered" in events
        assert secret not in events and secret not in json.dumps(listed)


async def test_link_that_expires_or_is_revoked_closes_what_its_guests_have_open(
    atoll: World,
) -> None:
    board = await _board(atoll)
    share, secret = await _link(atoll, board)
    _, headers = await _enter(atoll, secret)
    async with (
        _both(atoll, board, headers) as (ann, guest),
        client_of(atoll.url, atoll.token) as client,
    ):
        await guest.told("welcome")
        place = f"/v1/dashboards/{board}/shares/{share['share_id']}"
        assert (await client.delete(place)).status_code == 204
        await guest.until(lambda: guest.code is not None)
        assert (guest.code, ann.code) == (4401, None)
        assert (await client.delete(place)).status_code == 404
        events = (await client.get("/v1/events?limit=1000")).text
        assert "dashboard.share_revoked" in events
    short, secret = await _link(atoll, board, ttl="1h")
    _, headers = await _enter(atoll, secret)
    async with _both(atoll, board, headers) as (ann, guest):
        await guest.told("welcome")
        atoll.clock.at += timedelta(hours=1, seconds=1)
        await guest.until(lambda: guest.code is not None)
        assert (guest.code, ann.code) == (4401, None)
    assert short["share_id"] != share["share_id"]
    async with client_of(atoll.url) as client:
        client.headers.update(headers)
        assert (await client.get(f"/v1/dashboards/{board}")).status_code == 401


async def test_deleted_dashboard_has_no_links_when_it_is_back(atoll: World) -> None:
    board = await _board(atoll)
    _, secret = await _link(atoll, board)
    async with client_of(atoll.url, atoll.token) as client:
        await client.delete(f"/v1/dashboards/{board}")
        again = await client.post(f"/v1/dashboards/{board}/restore")
        assert again.status_code == 200
        assert (await client.get(f"/v1/dashboards/{board}/shares")).json() == {"shares": []}
        ticket = {"ticket": secret}
        assert (await client.post("/auth/invitations", json=ticket)).status_code == 401
        assert (await client.post("/auth/guests", json=ticket)).status_code == 401


async def test_owner_and_administrators_alone_make_links_and_only_so_many(atoll: World) -> None:
    team = Team(atoll)
    await team.join("ann")
    await team.join("bob")
    await team.join("boss", OrgRole.ADMIN)
    body = {"name": "Plan", "scope": "shared"}
    board = (await team.call("ann", "POST", "/v1/dashboards", json=body)).json()["id"]
    place = f"/v1/dashboards/{board}/shares"
    for method, path in (("POST", place), ("GET", place), ("DELETE", f"{place}/sh_x")):
        more: dict[str, Any] = {"json": {}} if method == "POST" else {}
        assert (await team.call("bob", method, path, **more)).status_code == 403
    for _ in range(MAX_SHARES):
        assert (await team.call("boss", "POST", place, json={})).status_code == 201
    full = await team.call("ann", "POST", place, json={})
    assert (full.status_code, full.json()["code"]) == (429, "limit_reached")


@pytest.mark.parametrize("name", ["Bob", "B0b", " bob "])
async def test_guest_has_not_the_name_of_a_member(atoll: World, name: str) -> None:
    team = Team(atoll)
    await team.join("bob")
    board = await _board(atoll)
    _, secret = await _link(atoll, board)
    async with client_of(atoll.url) as client:
        refused = await client.post("/auth/guests", json={"ticket": secret, "name": name})
        assert (refused.status_code, refused.json()["field"]) == (422, "name")


async def test_links_of_a_member_end_with_its_membership(atoll: World) -> None:
    team = Team(atoll)
    await team.join("ann")
    board = (await team.call("ann", "POST", "/v1/dashboards", json={"name": "P"})).json()["id"]
    made = await team.call("ann", "POST", f"/v1/dashboards/{board}/shares", json={})
    secret = made.json()["link"].partition("#share=")[2]
    gone = await team.call(None, "DELETE", "/v1/organizations/personal/members/ann")
    assert gone.status_code == 204, gone.text
    async with client_of(atoll.url) as client:
        assert (await client.post("/auth/guests", json={"ticket": secret})).status_code == 401
