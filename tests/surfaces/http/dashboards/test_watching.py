"""Who only sees a dashboard watches the terminals on it, and reaches nothing else by that."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx
import pytest
from pycrdt import Map

from atoll.surfaces.http.server.credentials import PAGE_KEY
from tests.surfaces.http.dashboards.tab import Tab, item_id
from tests.surfaces.http.team import Team
from tests.surfaces.http.world import World, client_of

SECONDS = 8.0


class Stage:
    """A dashboard of `ann` with the pane of a terminal of its home; `bob` looks at it."""

    def __init__(self, team: Team, board: str, home: str, ann: Tab) -> None:
        self.team, self.board, self.home, self.ann = team, board, home, ann
        self.place = f"/v1/dashboards/{board}"
        self.terminals = f"/v1/sandboxes/{home}/terminals"

    async def role(self, who: str, role: str | None) -> None:
        place = f"{self.place}/people/{who}"
        if role is None:
            answer = await self.team.call("ann", "DELETE", place)
        else:
            answer = await self.team.call("ann", "PUT", place, json={"role": role})
        assert answer.is_success, answer.text

    @asynccontextmanager
    async def attached(
        self, headers: dict[str, str], terminal: str = "t_1"
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        url = f"{self.team.atoll.url}{self.terminals}/{terminal}/attach"
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.ws_connect(url) as socket,
        ):
            yield socket

    async def ends(self, headers: dict[str, str], terminal: str = "t_1") -> int | None:
        """Return the code with which an attach is refused."""
        async with self.attached(headers, terminal) as socket:
            return await closed(socket)

    def said(self) -> dict[str, str]:
        """Return what the runtime was told of the last client."""
        return dict(httpx.QueryParams(self.team.atoll.runtime.attached[-1]))

    async def guest(self, **body: object) -> dict[str, str]:
        atoll = self.team.atoll
        made = await self.team.call("ann", "POST", f"{self.place}/shares", json=body)
        secret = made.json()["link"].partition("#share=")[2]
        async with client_of(atoll.url) as client:
            told = await client.post("/auth/guests", json={"ticket": secret})
            cookie = told.cookies["atoll_guest"]
        key = atoll.services.logins.page_key(cookie)
        return {"Cookie": f"atoll_guest={cookie}", PAGE_KEY: key, "Origin": atoll.url}


async def closed(socket: aiohttp.ClientWebSocketResponse) -> int | None:
    async with asyncio.timeout(SECONDS):
        while not socket.closed:
            await socket.receive()
    return socket.close_code


def as_member(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer token-of-{name}"}


@asynccontextmanager
async def stage(atoll: World) -> AsyncIterator[Stage]:
    team = Team(atoll)
    for name in ("ann", "bob", "eve"):
        await team.join(name)
    board = (await team.call("ann", "POST", "/v1/dashboards", json={"name": "B"})).json()["id"]
    opened = await team.call("ann", "POST", f"/v1/dashboards/{board}/terminals")
    assert opened.json()["terminal_id"] == "t_1", opened.text
    tab = Tab()
    async with tab.joined(atoll.url, board, "token-of-ann"):
        await tab.told("welcome")
        made = Stage(team, board, opened.json()["sandbox_id"], tab)
        await made.role("bob", "viewer")
        yield made


async def pane(scene: Stage) -> None:
    fields: dict[str, Any] = {"kind": "terminal", "x": 0, "y": 0, "w": 400, "h": 300}
    scene.ann.items[item_id(1)] = Map({**fields, "sandbox_id": scene.home, "terminal_id": "t_1"})
    await scene.ann.saved()


async def test_viewer_watches_what_is_on_the_dashboard_and_reaches_nothing_else(
    atoll: World,
) -> None:
    async with stage(atoll) as scene:
        assert await scene.ends(as_member("bob")) == 4404
        await pane(scene)
        async with scene.attached(as_member("bob")) as socket:
            await socket.receive()
            said = scene.said()
            assert (said["role"], said["principal"]) == ("viewer", "bob")
        for other in ("t_2", "t_1x"):
            assert await scene.ends(as_member("bob"), other) == 4404
        assert await scene.ends(as_member("eve")) == 4404
        async with scene.team.client("bob") as bob:
            assert (await bob.get(f"{scene.terminals}/t_1")).status_code == 200
            box, one = f"/v1/sandboxes/{scene.home}", f"{scene.terminals}/t_1"
            tries: list[tuple[str, str, Any]] = [
                ("GET", box, None),
                ("GET", scene.terminals, None),
                ("GET", f"{scene.terminals}/t_2", None),
                ("POST", scene.terminals, {}),
                ("DELETE", one, None),
                ("PATCH", one, {"name": "x"}),
                ("POST", f"{one}/resize", {"cols": 80, "rows": 24}),
                ("POST", f"{one}/signal", {"signal": "INT"}),
                ("POST", f"{one}/recording", None),
                ("POST", f"{box}/exec", {"argv": ["true"]}),
                ("GET", f"{box}/files?path=.", None),
                ("GET", f"{box}/files/content?path=a", None),
                ("GET", f"{box}/agents", None),
                ("GET", f"{box}/ports", None),
                ("POST", f"{box}/stop", None),
                ("POST", f"{box}/shares", {}),
                ("DELETE", box, None),
            ]
            for method, path, body in tries:
                answer = await bob.request(method, path, json=body)
                assert answer.status_code == 404, (method, path, answer.text)
            asked: list[tuple[str, Any]] = [
                ("agent", {"action": "interrupt"}),
                ("ask", {"prompt": "rm"}),
                ("cards/c_1/answer", {"option": "allow"}),
            ]
            for path, body in asked:
                answer = await bob.post(f"{one}/{path}", json=body)
                assert answer.status_code == 403, (path, answer.text)
        listed = await scene.team.call("eve", "GET", f"{scene.terminals}/t_1")
        assert listed.status_code == 404


@pytest.mark.parametrize("way", ["unshared", "without the pane", "deleted"])
async def test_watching_ends_with_what_it_rests_on(atoll: World, way: str) -> None:
    async with stage(atoll) as scene:
        await pane(scene)
        async with scene.attached(as_member("bob")) as socket:
            await socket.receive()
            if way == "unshared":
                await scene.role("bob", None)
            elif way == "deleted":
                await scene.team.call("ann", "DELETE", scene.place)
            else:
                del scene.ann.items[item_id(1)]
                await scene.ann.saved()
            assert await closed(socket) == 4404
        assert await scene.ends(as_member("bob")) == 4404


async def test_editor_who_becomes_a_viewer_is_disconnected_and_comes_back_to_watch(
    atoll: World,
) -> None:
    async with stage(atoll) as scene:
        await pane(scene)
        await scene.role("bob", "editor")
        async with scene.attached(as_member("bob")) as socket:
            await socket.receive()
            assert scene.said()["role"] == "controller"
            await scene.role("bob", "viewer")
            assert await closed(socket) == 1013
        async with scene.attached(as_member("bob")) as socket:
            await socket.receive()
            assert scene.said()["role"] == "viewer"


async def test_guest_watches_only_where_its_link_says_so(atoll: World) -> None:
    async with stage(atoll) as scene:
        await pane(scene)
        assert await scene.ends(await scene.guest()) == 4404
        watcher = await scene.guest(terminals=True)
        async with scene.attached(watcher) as socket:
            await socket.receive()
            said = scene.said()
            assert said["role"] == "viewer" and said["expires"]
            del scene.ann.items[item_id(1)]
            await scene.ann.saved()
            assert await closed(socket) == 4404
        assert await scene.ends(watcher) == 4404
