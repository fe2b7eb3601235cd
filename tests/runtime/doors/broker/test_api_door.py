"""The control plane at the broker door: the token is added on the way out and never comes back."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web

from atoll.wire.contract.policy import ApiAccess, Policy
from tests.peers.broker import Door, broker_door
from tests.runtime.doors.broker.test_broker import serving

TOKEN = "aaaa.bbbb-canary.cccc"


@dataclass
class World:
    door: Door
    client: aiohttp.ClientSession
    url: str
    seen: list[web.Request] = field(default_factory=list)

    async def get(self, path: str, method: str = "GET", **more: str) -> tuple[int, str]:
        async with self.client.request(method, self.door.url + path, headers=more) as answer:
            return answer.status, await answer.text()


@pytest.fixture
async def at() -> AsyncIterator[World]:
    held: list[World] = []

    async def answer(request: web.Request) -> web.Response:
        held[0].seen.append(request)
        return web.Response(text=f"echo {request.headers['Authorization']}", headers={"X-A": TOKEN})

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    async with serving(app) as url, aiohttp.ClientSession() as client:
        policy = Policy(revision=1, api=ApiAccess(base_url=url, token=TOKEN))
        async with broker_door(policy=policy) as door:
            held.append(World(door, client, url))
            yield held[0]


async def test_token_is_added_and_masked_when_it_comes_back(at: World) -> None:
    status, text = await at.get("/atoll/v1/me?a=1", Authorization="Bearer mine", Cookie="a=b")
    assert status == 200 and TOKEN not in text
    (seen,) = at.seen
    assert (
        seen.headers.getall("Authorization") == [f"Bearer {TOKEN}"] and "Cookie" not in seen.headers
    )
    assert seen.path_qs == "/v1/me?a=1"
    assert "'atoll'" in str(at.door.audit[-1]) and TOKEN not in str(at.door.journal)


async def test_request_that_changes_anything_never_leaves(at: World) -> None:
    for method, path in (("POST", "/atoll/v1/me"), ("GET", "/atoll/v1/tokens"), ("GET", "/atoll"),
                         ("DELETE", "/atoll/v1/sandboxes/sb_1"), ("POST", "/atoll/auth/pat"),
                         ("GET", "/atollv1/me"), ("GET", "/broker/atoll/v1/me")):  # fmt: skip
        status, _ = await at.get(path, method)
        assert status in {400, 403, 404}, path
    assert at.seen == []


async def test_door_without_access_answers_as_if_it_were_not_there(at: World) -> None:
    at.door.policy.replace(Policy(revision=2))
    status, text = await at.get("/atoll/v1/me")
    assert status == 404 and "not_found" in text
    new = ApiAccess(base_url=at.url, token="new.new.new")
    at.door.policy.replace(Policy(revision=3, api=new))
    await at.get("/atoll/v1/me")
    assert at.seen[-1].headers["Authorization"] == "Bearer new.new.new"


@pytest.mark.parametrize("base_url", ["http://203.0.113.1:80", "ftp://127.0.0.1", "nothing"])
async def test_token_is_sent_to_this_machine_or_by_https_only(at: World, base_url: str) -> None:
    access = ApiAccess(base_url=base_url, token=TOKEN)
    at.door.policy.replace(Policy(revision=2, api=access))
    assert (await at.get("/atoll/v1/me"))[0] == 404
