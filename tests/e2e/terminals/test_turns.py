"""One terminal, a person at the command line and others by WebSocket: turns by every path."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
import pytest

from atoll.testing.server import TestServer
from tests.peers.api import Api, api_of, until
from tests.surfaces.cli.commands.terminals.test_attach import PersonTty, person_tty

PATIENCE = 90.0


class AttachedClient:
    """A plain WebSocket client that remembers what it saw and was told."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws
        self.seen = bytearray()
        self.state: dict[str, Any] = {}

    async def hear(self) -> dict[str, Any] | None:
        """One frame: a message, an empty one for bytes, None at the end."""
        async with asyncio.timeout(PATIENCE):
            frame = await self.ws.receive()
        if frame.type is aiohttp.WSMsgType.BINARY:
            self.seen += frame.data
            return {}
        if frame.type is not aiohttp.WSMsgType.TEXT:
            return None
        said: dict[str, Any] = json.loads(frame.data)
        if said["type"] == "control_state":
            self.state = said
        return said

    async def told(self, kind: str) -> dict[str, Any]:
        while (said := await self.hear()) is not None:
            if said.get("type") == kind:
                return said
        raise AssertionError(f"closed with {self.ws.close_code} before {kind}")

    async def sees(self, words: bytes) -> None:
        while words not in self.seen:
            assert await self.hear() is not None, bytes(self.seen[-300:])

    async def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Until a control state of which something holds."""
        while not (self.state and holds(self.state)):
            assert await self.hear() is not None, self.state
        return self.state

    async def say(self, kind: str, **fields: object) -> None:
        await self.ws.send_json({"type": kind, **fields})


def driver(state: dict[str, Any]) -> str | None:
    return None if state["driver"] is None else str(state["driver"]["name"])


@asynccontextmanager
async def attach_with(
    url: str, headers: dict[str, str], **query: str
) -> AsyncIterator[AttachedClient]:
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.ws_connect(url, params=query, max_msg_size=0) as ws,
    ):
        yield AttachedClient(ws)


def guest(api: Api, server: TestServer, sandbox: str, name: str, *role: str) -> dict[str, str]:
    """Share by the command line, come in by the link: the headers of a guest's browser."""
    made = server.run("share", sandbox, *role)
    assert made.returncode == 0, made.stderr
    return guest_by(api, server, made.stdout.strip(), name)


def guest_by(api: Api, server: TestServer, link: str, name: str) -> dict[str, str]:
    """Come in by a link: the headers of a guest's browser."""
    secret = link.partition("#share=")[2]
    told = api.client.post(
        "/auth/guests",
        json={"ticket": secret, "name": name},
        headers={"Authorization": "", "Origin": server.url},
    )
    assert told.status_code == 201, told.text
    cookie = told.cookies["atoll_guest"]
    api.client.cookies.clear()
    key = told.json()["page_key"]
    return {"Cookie": f"atoll_guest={cookie}", "Atoll-Page-Key": key, "Origin": server.url}


@pytest.fixture
def api(atoll: TestServer) -> Iterator[Api]:
    with api_of(atoll) as made:
        yield made


@contextmanager
def attach_tty(server: TestServer, *words: str) -> Iterator[PersonTty]:
    with person_tty({"ATOLL_HOME": str(server.home)}, "attach", *words) as made:
        yield made


@pytest.mark.timeout(400)
async def test_command_line_and_two_guests_take_turns_by_every_path(
    atoll: TestServer, api: Api
) -> None:
    sandbox = api.create(name="turns")["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    url = api.attach_url(sandbox, terminal)
    bob = guest(api, atoll, sandbox, "Bob", "--role", "controller")
    eve = guest(api, atoll, sandbox, "Eve")
    with attach_tty(atoll, sandbox, "--terminal", terminal) as cli:
        await asyncio.to_thread(cli.type, b"by the cli\r")
        await asyncio.to_thread(cli.expect, b"by the cli\r\nby the cli")
        async with attach_with(url, eve, client="e") as watcher:
            await watcher.until(lambda state: driver(state) == "person")
            await watcher.ws.send_bytes(b"by eve\r")
            assert (await watcher.told("input_refused"))["reason"] == "viewer"
            lease = await by_request_and_grant(cli, url, bob, watcher)
            await by_grace_and_its_end(cli, url, bob, watcher, lease=lease)
            await by_take_over(cli, api, url, bob, watcher)
            await watcher.sees(b"by the owner's other tab")
            assert b"by eve" not in watcher.seen
            assert b"refused" not in watcher.seen
    log = until(lambda: api.events(sandbox), typed_by_both)
    typed = [one for one in log if one["event_type"] == "terminal.input"]
    assert "by bob" not in json.dumps(log)
    assert {one["payload"]["name"] for one in typed} == {"person", "Bob"}
    assert all(one["actor"]["id"] == one["payload"]["principal"] for one in typed)
    assert "terminal.control" in {one["event_type"] for one in log}


def typed_by_both(log: list[dict[str, Any]]) -> bool:
    names = [one["payload"]["name"] for one in log if one["event_type"] == "terminal.input"]
    return {"person", "Bob"} <= set(names)


async def by_request_and_grant(
    cli: PersonTty, url: str, bob: dict[str, str], watcher: AttachedClient
) -> int:
    """A guest asks, the person gives with one key, and is refused until the guest is gone."""
    async with attach_with(url, bob, client="b") as session:
        await session.ws.send_bytes(b"refused bob\r")
        assert (await session.told("input_refused"))["reason"] == "not_driver"
        await session.say("request_control")
        await asyncio.to_thread(cli.expect, b"Bob asks for control")
        await asyncio.to_thread(cli.type, b"\x1d")
        lease = (await session.until(lambda state: driver(state) == "Bob"))["epoch"]
        await asyncio.to_thread(cli.expect, b"[Bob drives]")
        await session.ws.send_bytes(b"by bob\r")
        await watcher.sees(b"by bob\r\nby bob")
        await asyncio.to_thread(cli.type, b"refused cli\r")
        await asyncio.to_thread(cli.expect, b"Bob drives, ctrl-] asks for control")
        # The line breaks in the middle of his turn.
        connection = session.ws._response.connection
        assert connection is not None
        assert connection.transport is not None
        connection.transport.abort()
    return int(lease)


async def by_grace_and_its_end(
    cli: PersonTty, url: str, bob: dict[str, str], watcher: AttachedClient, *, lease: int
) -> None:
    """Back within ten seconds the lease is the same; away for longer it is over."""
    seen = len(cli.seen)
    await watcher.until(lambda state: bool(state["away"]))
    async with attach_with(url, bob, client="b") as again:
        state = await again.until(lambda state: driver(state) == "Bob" and not state["away"])
        assert state["epoch"] == lease
        await again.ws.send_bytes(b"by bob again\r")
        await watcher.sees(b"by bob again")
    gone = asyncio.get_running_loop().time()
    expired = await watcher.told("control_expired")
    assert (expired["client"], expired["reason"]) == ("b", "grace")
    assert 9 < asyncio.get_running_loop().time() - gone < 20
    await watcher.until(lambda state: driver(state) is None)
    # The watcher is told in its own time: what is typed before the CLI knows is refused there.
    await asyncio.to_thread(cli.expect, b"[nobody drives]", since=seen)
    await asyncio.to_thread(cli.type, b"free for the cli\r")
    await watcher.sees(b"free for the cli")
    async with attach_with(url, bob, client="b") as late:
        await late.ws.send_bytes(b"refused late bob\r")
        assert (await late.told("input_refused"))["reason"] == "not_driver"


async def by_take_over(
    cli: PersonTty, api: Api, url: str, bob: dict[str, str], watcher: AttachedClient
) -> None:
    """The owner takes from a guest, and moves between clients of their own by asking."""
    seen = len(cli.seen)
    async with attach_with(url, bob, client="b") as guest:
        await guest.say("request_control")
        # The key gives control only once the CLI knows who asks.
        await asyncio.to_thread(cli.expect, b"Bob asks for control", since=seen)
        await asyncio.to_thread(cli.type, b"\x1d")
        await guest.until(lambda state: driver(state) == "Bob")
        async with attach_with(url, api.headers, client="tab", take="true") as tab:
            await guest.until(lambda state: driver(state) == "person")
            await guest.ws.send_bytes(b"refused again\r")
            assert (await guest.told("input_refused"))["reason"] == "not_driver"
            await tab.ws.send_bytes(b"by the owner's other tab\r")
            await watcher.sees(b"by the owner's other tab")
            await asyncio.to_thread(cli.type, b"\x1d")
            await tab.until(lambda state: state["driver"]["client"].startswith("cli-"))
            await asyncio.to_thread(cli.type, b"back at the cli\r")
            await tab.sees(b"back at the cli")


async def test_revoked_link_of_a_driver_closes_its_session_within_five_seconds(
    atoll: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    bob = guest(api, atoll, sandbox, "Bob", "--role", "controller", "--terminal", terminal)
    async with attach_with(api.attach_url(sandbox, terminal), bob, client="b") as session:
        await session.ws.send_bytes(b"mine\r")
        await session.sees(b"mine")
        listed = api.call("GET", f"/v1/sandboxes/{sandbox}/shares")["shares"]
        assert [share["guests"] for share in listed] == [1]
        done = atoll.run("share", "rm", sandbox, listed[0]["share_id"])
        assert done.returncode == 0, done.stderr
        async with asyncio.timeout(5):
            while await session.hear() is not None:
                pass
        assert session.ws.close_code == 4401
    async with aiohttp.ClientSession(headers=bob) as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(api.attach_url(sandbox, terminal))
        assert refused.value.status == 401


def test_read_only_session_watches_and_its_keys_go_nowhere(atoll: TestServer, api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = api.terminal(sandbox, "sh", "-c", "echo hello; exec cat")
    with attach_tty(atoll, sandbox, "--terminal", terminal, "--read-only") as watching:
        watching.expect(b"hello")
        watching.expect(b"watching only")
        watching.type(b"nothing\r")
        watching.expect(b"\a")
        with attach_tty(atoll, sandbox, "--terminal", terminal) as driving:
            driving.expect(b"hello")
            driving.type(b"something\r")
            watching.expect(b"something")
        assert b"nothing" not in watching.seen


def test_driver_who_detached_drives_again_from_the_next_attach(atoll: TestServer, api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = api.terminal(sandbox, "sh", "-c", "echo hello; exec cat")
    for word in (b"once", b"again"):
        with attach_tty(atoll, sandbox, "--terminal", terminal) as tty:
            tty.expect(b"hello")
            tty.type(word + b"\r")
            tty.expect(word + b"\r\n" + word)
            tty.type(b"\x1c")
            assert tty.ends() == 0
            assert b"drives" not in tty.seen


async def test_multiplayer_words_and_ours_show_the_same_terminal(
    atoll: TestServer, api: Api
) -> None:
    session = api.call("POST", "/sessions?wait=ready")["session_id"]
    pty = api.call("POST", f"/sessions/{session}/ptys", json={"argv": ["cat"]})["pty_id"]
    assert api.call("GET", f"/v1/sandboxes/{session}/terminals/{pty}")["terminal_id"] == pty
    literal = f"{atoll.url}/sessions/{session}/ptys/{pty}/ws"
    async with (
        attach_with(literal, api.headers, client="one") as one,
        attach_with(api.attach_url(session, pty), api.headers, client="two") as two,
    ):
        await one.say("request_control")
        await one.say("resize", cols=101, rows=31)
        assert (await two.told("size"))["cols"] == 101
        await one.ws.send_bytes(b"same\r")
        await two.sees(b"same")
        await one.say("grant_control", to="two")
        await two.until(lambda state: state["driver"]["client"] == "two")
        await two.say("revoke_control")
        await one.until(lambda state: state["driver"] is None)
    api.client.put(f"/sessions/{session}/file?path=d/a.txt", content=b"words").raise_for_status()
    assert api.client.get(f"/v1/sandboxes/{session}/files/content?path=d/a.txt").text == "words"
    listed = api.call("GET", f"/sessions/{session}/files?path=d")["entries"]
    assert [entry["name"] for entry in listed] == ["a.txt"]
    api.client.post(f"/sessions/{session}/upload?path=up.bin", content=b"1").raise_for_status()
    assert api.client.get(f"/sessions/{session}/file?path=up.bin").text == "1"
    api.call("DELETE", f"/sessions/{session}/file?path=up.bin")
    api.call("DELETE", f"/sessions/{session}/ptys/{pty}")
    api.call("DELETE", f"/sessions/{session}")
