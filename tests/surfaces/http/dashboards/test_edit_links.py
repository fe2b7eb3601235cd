"""Links that may edit: what their guests change on a dashboard, what they never do, and the end."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from time import monotonic
from typing import Any

import pytest
from pycrdt import Map, Text

from atoll.domain.dashboards.guest import GUEST_TEXT_BYTES
from tests.surfaces.http.dashboards.tab import Tab, item_id
from tests.surfaces.http.dashboards.test_watching import Stage, closed, pane, stage
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/dashboards/{dashboard}/shares": {
        "edits": "test_guest_edits_and_is_named_for_it",
    },
}


async def _tab(stack: AsyncExitStack, scene: Stage, headers: dict[str, str]) -> Tab:
    """A guest's tab that has what is on the dashboard."""
    tab = Tab()
    url = scene.team.atoll.url
    await stack.enter_async_context(tab.joined(url, scene.board, headers=headers))
    assert (await tab.told("welcome"))["role"] == "editor"
    await tab.until(lambda: len(tab.items) == len(scene.ann.items))
    return tab


async def _history_of(scene: Stage) -> set[str]:
    """Return who is in the history, which is written once the dashboard is closed."""
    async with asyncio.timeout(10):
        while True:
            answer = await scene.team.call("ann", "GET", f"{scene.place}/history")
            if answer.json()["entries"]:
                return {str(one["actor"]) for one in answer.json()["entries"]}
            await asyncio.sleep(0.05)


async def test_guest_edits_and_is_named_for_it(atoll: World) -> None:
    async with stage(atoll) as scene, AsyncExitStack() as stack:
        scene.ann.add(2, "hello")
        await pane(scene)
        headers = await scene.guest(edits=True)
        eve = await _tab(stack, scene, headers)
        eve.items[item_id(2)]["x"] = 77
        text = eve.items[item_id(2)]["text"]
        text += " you"
        eve.items[item_id(1)]["x"] = 55  # a pane, arranged
        eve.add(3, "of a guest")
        await eve.saved()
        await scene.ann.until(lambda: item_id(3) in scene.ann.items)
        assert scene.ann.items[item_id(2)]["x"] == 77
        assert str(scene.ann.items[item_id(2)]["text"]) == "hello you"
        del eve.items[item_id(2)]
        await eve.saved()
        async with client_of(atoll.url) as guest:
            guest.headers.update(headers)
            me = (await guest.get("/v1/me")).json()
            place = f"{scene.place}/comments"
            body = {"item_id": item_id(3), "text": "look @bob", "mentions": ["bob"]}
            made = await guest.post(place, json=body)
            assert made.status_code == 201, made.text
            comment = made.json()
            assert comment["author_name"].startswith("guest ") and comment["mentions"] == []
            other = await scene.team.call("ann", "POST", place, json={**body, "mentions": []})
            theirs = f"{place}/{other.json()['id']}"
            assert (await guest.patch(theirs, json={"resolved": True})).status_code == 403
            assert (await guest.delete(theirs)).status_code == 403
            assert (await guest.delete(f"{place}/{comment['id']}")).status_code == 204
        listed = await scene.team.call("ann", "GET", f"{scene.place}/shares")
        assert listed.json()["shares"][0]["edits"] is True
    assert me["id"] in await _history_of(scene)


def _add(**fields: object) -> Callable[[Any, str], None]:
    def attack(items: Any, home: str) -> None:
        made = {"kind": "note", "x": 0, "y": 0, "w": 9, "h": 9, **fields}
        text = made.pop("text", None)
        known = {name: home if value == "home" else value for name, value in made.items()}
        items[item_id(9)] = Map({**known, **({} if text is None else {"text": Text(str(text))})})

    return attack


def _set(number: int, name: str, value: str) -> Callable[[Any, str], None]:
    return lambda items, home: items[item_id(number)].__setitem__(name, value)


def _remove(number: int) -> Callable[[Any, str], None]:
    return lambda items, home: items.__delitem__(item_id(number))


ATTACKS: dict[str, Callable[[Any, str], None]] = {
    "a pane": _add(kind="terminal", sandbox_id="home", terminal_id="t_2"),
    "another terminal": _set(1, "terminal_id", "t_2"),
    "a pane removed": _remove(1),
    "a pane no more": _set(1, "kind", "note"),
    "a task removed": _remove(2),
    "a todo for a member": _add(kind="todo", text="for you", assignee="bob"),
    "in another's name": _add(text="of bob", by="bob"),
    "too large": _add(text="x" * (GUEST_TEXT_BYTES + 1)),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_guest_changes_nothing_that_opens_starts_or_names_another(
    atoll: World, attack: str
) -> None:
    """Attack: panes of other terminals, tasks of agents, other people's names, and too much."""
    async with stage(atoll) as scene, AsyncExitStack() as stack:
        scene.ann.add(2, "do it", kind="todo")
        scene.ann.items[item_id(2)]["task"] = {"sandbox_id": "sb_x"}
        await pane(scene)
        eve = await _tab(stack, scene, await scene.guest(edits=True, terminals=True))
        ATTACKS[attack](eve.items, scene.home)
        refused = await eve.told("refused")
        assert refused["code"] == ("too_large" if attack == "too large" else "forbidden")
        headers = {"Authorization": "Bearer token-of-ann"}
        fresh = Tab()
        async with fresh.joined(atoll.url, scene.board, headers=headers):
            await fresh.until(lambda: len(fresh.items) == 2)
            assert fresh.items[item_id(1)]["terminal_id"] == "t_1"


async def test_edit_link_opens_nothing_else_of_the_api(atoll: World) -> None:
    async with stage(atoll) as scene:
        await pane(scene)
        headers = await scene.guest(edits=True, terminals=True)
        home, one = f"/v1/sandboxes/{scene.home}", f"{scene.terminals}/t_1"
        tries: list[tuple[str, str, Any]] = [
            ("POST", f"{scene.place}/terminals", {}),
            ("POST", f"{scene.place}/agents", {"agent": "codex"}),
            ("POST", f"{scene.place}/shares", {}),
            ("POST", f"{scene.place}/sandboxes/{scene.home}", None),
            ("PUT", f"{scene.place}/people/eve", {"role": "editor"}),
            ("PATCH", scene.place, {"name": "mine"}),
            ("DELETE", scene.place, None),
            ("GET", f"{scene.place}/history", None),
            ("GET", home, None),
            ("POST", f"{home}/exec", {"command": "id"}),
            ("GET", f"{home}/files?path=/", None),
            ("PUT", f"{home}/network", {"mode": "full"}),
            ("GET", "/v1/secrets", None),
            ("POST", f"{one}/ask", {"text": "hi"}),
            ("POST", f"{one}/signal", {"signal": "KILL"}),
            ("DELETE", one, None),
        ]
        async with client_of(atoll.url) as guest:
            guest.headers.update(headers)
            for method, path, body in tries:
                answer = await guest.request(method, path, json=body)
                assert answer.status_code in {403, 404, 405}, (method, path, answer.text)
            looks = await scene.guest()
            guest.headers.update(looks)
            body = {"item_id": item_id(1), "text": "hi"}
            told = await guest.post(f"{scene.place}/comments", json=body)
            assert told.status_code == 404


async def test_guest_types_only_where_it_is_given_control(atoll: World) -> None:
    async with stage(atoll) as scene:
        await pane(scene)
        for body, role in (
            ({"terminals": True}, "viewer"),
            ({"terminals": True, "edits": True}, "controller"),
        ):
            async with scene.attached(await scene.guest(**body)) as socket:
                await socket.receive()
                said = scene.said()
                assert (said["role"], said["given"]) == (role, "true")
        assert await scene.ends(await scene.guest(edits=True)) == 4404


async def test_revoked_edit_link_loses_its_rights_within_a_second(atoll: World) -> None:
    async with stage(atoll) as scene, AsyncExitStack() as stack:
        await pane(scene)
        headers = await scene.guest(edits=True, terminals=True)
        eve = await _tab(stack, scene, headers)
        async with scene.attached(headers) as socket:
            await socket.receive()
            shares = (await scene.team.call("ann", "GET", f"{scene.place}/shares")).json()
            share = shares["shares"][0]["share_id"]
            begun = monotonic()
            gone = await scene.team.call("ann", "DELETE", f"{scene.place}/shares/{share}")
            assert gone.status_code == 204
            eve.add(9, "too late")
            async with asyncio.timeout(1):
                await eve.until(lambda: eve.code is not None)
            assert await closed(socket) in {4401, 4404}
            assert monotonic() - begun < 1.5  # of which the revocation itself is a part
        assert item_id(9) not in scene.ann.items
        scene.ann.items[item_id(8)] = Map({
            "kind": "note", "x": 0, "y": 0, "w": 9, "h": 9, "text": Text(""),
        })  # fmt: skip
        await scene.ann.saved()  # and the document goes on
