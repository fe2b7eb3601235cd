"""Three control planes of one home on PostgreSQL: any of them answers for all."""

import asyncio
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from atoll.testing.server import TestServer, test_server
from atoll.wire.zygote import messages as wire
from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import Home
from tests.e2e.replicas.fleet import ELECTED_SECONDS, Fleet, fleet_on
from tests.e2e.replicas.push import watched_through_kills
from tests.e2e.terminals.test_turns import attach_with
from tests.peers.api import Api, api_of, until
from tests.peers.databases.postgres import PostgresServer
from tests.surfaces.http.dashboards.tab import Tab, item_id
from tests.surfaces.mcp.requests import body_of, headers_of

LISTENS = "2026-07-28"
BOTH = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def fleet(postgres: PostgresServer) -> Iterator[Fleet]:
    with fleet_on(postgres) as made:
        yield made


@pytest.fixture
def apis(fleet: Fleet) -> Iterator[list[Api]]:
    with ExitStack() as stack:
        yield [stack.enter_context(api_of(server)) for server in fleet.servers]


def test_sandbox_made_on_one_is_used_on_another_and_destroyed_on_the_third(
    apis: list[Api],
) -> None:
    # A sandbox for each of the two that may lead, or do not.
    for turn in range(2):
        one, two, three = apis[turn:] + apis[:turn]
        made = one.create(name=f"shared{turn}")["sandbox_id"]
        assert two.sandbox(made)["state"] == "ready"
        assert two.sandbox(f"shared{turn}")["sandbox_id"] == made
        assert two.run(made, "echo hello > kept; cat kept") == "hello\n"
        assert three.act(made, "stop")["state"] == "stopped"
        for api in apis:
            content = api.client.get(f"/v1/sandboxes/{made}/files/content?path=kept")
            assert (content.status_code, content.text) == (200, "hello\n"), content.text
        assert one.act(made, "start")["state"] == "ready"
        assert two.run(made, "cat kept") == "hello\n"
        three.act(made, "destroy")
        for api in apis:
            assert api.sandbox(made)["state"] == "destroyed"
        ran = [one for one in two.events(made) if one["event_type"].startswith("exec.")]
        assert ran and all(one["actor"]["id"] != "atoll" for one in ran)
        seqs = [event["seq"] for event in two.events(made)]
        assert seqs == list(range(1, len(seqs) + 1))


def test_login_and_logout_count_on_every_replica(fleet: Fleet) -> None:
    one, two, three = fleet.servers
    link = json.loads(one.run("login", "--json").stdout)["url"]
    ticket = link.partition("#login=")[2]
    with ExitStack() as stack:
        clients = [
            stack.enter_context(httpx.Client(base_url=server.url, timeout=60))
            for server in (two, three, one)
        ]
        entered = clients[0].post("/auth/login", json={"ticket": ticket})
        assert entered.status_code == 200, entered.text
        cookie = entered.cookies["atoll_session"]
        for client, server in zip(clients, (two, three, one), strict=True):
            client.headers["Atoll-Page-Key"] = entered.json()["page_key"]
            client.headers["Origin"] = server.url
            client.cookies.set("atoll_session", cookie)
            assert client.get("/auth/me").status_code == 200
        again = httpx.post(f"{three.url}/auth/login", json={"ticket": ticket})
        assert again.status_code == 401
        assert clients[1].post("/auth/logout").status_code == 204
        ended = time.monotonic()
        for client in clients:
            until(partial(_logged_out, client), bool)
        assert time.monotonic() - ended < 10


def _logged_out(client: httpx.Client) -> bool:
    return client.get("/auth/me").status_code == 401


async def test_two_viewers_through_two_replicas_see_the_same_and_hand_over_control(
    apis: list[Api],
) -> None:
    one, two, three = apis
    sandbox = (await asyncio.to_thread(one.create, name="watched"))["sandbox_id"]
    terminal = await asyncio.to_thread(two.terminal, sandbox, "cat")
    first, second = (api.attach_url(sandbox, terminal) for api in (one, two))
    async with (
        attach_with(first, one.headers, client="a") as a,
        attach_with(second, two.headers, client="b") as b,
    ):
        await a.say("request_control")
        await a.until(lambda state: state["driver"]["client"] == "a")
        await a.ws.send_bytes(b"by the first\r")
        await b.sees(b"by the first\r\nby the first")
        await b.ws.send_bytes(b"not yet\r")
        assert (await b.told("input_refused"))["reason"] == "not_driver"
        await a.say("grant_control", to="b")
        await b.until(lambda state: state["driver"]["client"] == "b")
        await b.ws.send_bytes(b"by the second\r")
        for viewer in (a, b):
            await viewer.sees(b"by the second\r\nby the second\r\n")
        assert a.seen == b.seen
        assert b"not yet" not in a.seen
    await asyncio.to_thread(three.act, sandbox, "destroy")


async def test_dashboard_edited_through_three_replicas_is_one_also_when_one_is_killed(
    fleet: Fleet, apis: list[Api]
) -> None:
    made = await asyncio.to_thread(apis[0].client.post, "/v1/dashboards", json={"name": "Board"})
    board, note = made.json()["id"], item_id(1)
    tokens = [api.headers["Authorization"].removeprefix("Bearer ") for api in apis]
    one, two, three = Tab(), Tab(), Tab()
    urls = [server.url for server in fleet.servers]
    victim = fleet.others(fleet.leader())[0]
    doomed = fleet.servers.index(victim)
    first, second = (number for number in range(3) if number != doomed)
    async with (
        one.joined(urls[first], board, tokens[first]),
        two.joined(urls[second], board, tokens[second]),
    ):
        one.add(1, "begin")
        await one.saved()
        await two.until(lambda: note in two.items)
        async with three.joined(urls[doomed], board, tokens[doomed]):
            await three.until(lambda: note in three.items)
            for tab, word in ((one, "a"), (two, "b"), (three, "c")):
                tab.items[note]["text"].insert(0, word)
                await tab.flush()
            await three.saved()
            victim.kill()
            await three.until(lambda: three.code is not None)
        three.items[note]["text"].insert(0, "d")
        three.add(2, "offline")
        async with three.joined(urls[first], board, tokens[first]):
            tabs = (one, two, three)
            for tab in tabs:
                await tab.until(lambda tab=tab: len(tab.items) == 2)  # type: ignore[misc]
                await tab.until(lambda tab=tab: _all_typed(tab))  # type: ignore[misc]
            assert one.state() == two.state() == three.state()
    await asyncio.to_thread(victim.start)


def _all_typed(tab: Tab) -> bool:
    return sorted(str(tab.items[item_id(1)]["text"])) == sorted("abcd" + "begin")


class Creators:
    """Clients that create sandboxes, one at each replica, until it is gone or all are made."""

    EACH = 4

    def __init__(self, fleet: Fleet) -> None:
        self.made: list[str] = []
        self._threads = [
            threading.Thread(target=self._create, args=(server, number))
            for number, server in enumerate(fleet.servers)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _create(self, server: TestServer, number: int) -> None:
        with api_of(server) as api:
            for turn in range(self.EACH):
                body = {"profile": "shell", "name": f"load{number}-{turn}"}
                try:
                    answer = api.client.post("/v1/sandboxes", json=body)
                except httpx.HTTPError:
                    return  # killed: nobody was told that this one is made
                if answer.is_success:
                    self.made.append(answer.json()["sandbox_id"])


@pytest.mark.timeout(600)
def test_leader_killed_in_the_midst_of_creates_loses_nothing(fleet: Fleet) -> None:
    """Every acknowledged create becomes ready, no stream has a gap, nothing is left behind."""
    leader = fleet.leader()
    creators = Creators(fleet)
    creators.start()
    until(lambda: len(creators.made), lambda count: count >= 3)
    leader.kill()
    killed = time.monotonic()
    creators.join()
    assert fleet.leader() is not leader
    assert time.monotonic() - killed < ELECTED_SECONDS
    one, two = fleet.others(leader)
    with api_of(one) as api, api_of(two) as other:
        for sandbox in creators.made:
            assert api.until(sandbox, _stands, 240)["state"] == "ready"
            assert other.run(sandbox, "echo here") == "here\n"
            other.act(sandbox, "destroy")
            seqs = [event["seq"] for event in api.events(sandbox)]
            assert seqs == list(range(1, len(seqs) + 1))
        for row in fleet.query("SELECT id FROM sandboxes WHERE state <> 'destroyed'"):
            other.act(str(row[0]), "destroy")  # stored, but its answer was lost
    box = zygote_process.ask(Home(leader.home), wire.ListBoxes())
    assert isinstance(box, wire.Listed) and not box.boxes
    until(lambda: fleet.query("SELECT * FROM owed_work"), lambda rows: not rows)
    listed = leader.run("ls")  # the command line finds a replica that runs
    assert listed.returncode == 0, listed.stderr
    leader.start()
    with api_of(leader) as api:
        back = api.create(name="back")["sandbox_id"]
        api.act(back, "destroy")


@pytest.mark.timeout(300)
async def test_leader_that_is_ended_hands_over_first_and_ends_its_streams_in_order(
    fleet: Fleet,
) -> None:
    """Another one leads while a command still holds the one that ends."""
    leader = await asyncio.to_thread(fleet.leader)
    with api_of(leader) as api:
        made = (await asyncio.to_thread(api.create))["sandbox_id"]
    token = {"Authorization": f"Bearer {leader.token}"}
    listen = headers_of(LISTENS, "subscriptions/listen")
    body = body_of(LISTENS, "subscriptions/listen", notifications={"toolsListChanged": True})
    asked: list[tuple[str, str, Any, dict[str, str]]] = [
        ("GET", "/v1/events/stream", None, {}),
        ("GET", f"/v1/sandboxes/{made}/files/watch?path=.", None, {}),
        ("POST", "/mcp", body, listen),
    ]
    held: tuple[str, str, Any, dict[str, str]] = (
        "POST",
        f"/v1/sandboxes/{made}/exec",
        {"argv": ["sleep", "60"]},
        {},
    )
    written = leader.log.stat().st_size
    async with (
        httpx.AsyncClient(base_url=leader.url, headers=token, timeout=60) as client,
        connect(
            f"{leader.url.replace('http', 'ws')}/v1/events/stream", additional_headers=token
        ) as socket,
        asyncio.TaskGroup() as tasks,
    ):
        streams = [_Stream(*one) for one in asked]
        reading = [tasks.create_task(one.read(client)) for one in streams]
        holding = tasks.create_task(_Stream(*held).read(client))
        await asyncio.gather(*(one.begun.wait() for one in streams))
        await asyncio.to_thread(until, partial(_running, leader, made), bool)
        assert leader.process is not None
        leader.process.terminate()
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                await socket.recv()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1012
        assert await asyncio.gather(*reading) == [200] * len(asked)
        name = leader.replica or "main"
        await asyncio.to_thread(until, fleet.leading, lambda found: found not in ("", name))
        assert leader.process.poll() is None, "it led until its last request was over"
        assert await holding == 503
    await asyncio.to_thread(leader.process.wait)
    assert b"Traceback" not in leader.log.read_bytes()[written:]
    leader.start()
    with api_of(leader) as api:
        api.act(made, "destroy")


def _running(server: TestServer, sandbox: str) -> bool:
    """Whether the command runs inside."""
    with api_of(server) as api:
        return "sleep 60" in api.run(sandbox, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").replace(
            "cat", ""
        )


class _Stream:
    """A request whose answer is read to its whole end."""

    def __init__(self, method: str, path: str, body: Any, headers: dict[str, str]) -> None:
        self._asked = method, path
        self._named = {"json": body, "headers": {"Accept": BOTH, **headers}}
        self.begun = asyncio.Event()

    async def read(self, client: httpx.AsyncClient) -> int:
        async with client.stream(*self._asked, **self._named) as answer:
            self.begun.set()
            async for _ in answer.aiter_raw():
                pass
            return answer.status_code


def _stands(sandbox: dict[str, object]) -> bool:
    return sandbox["state"] not in ("requested", "provisioning")


def test_down_ends_all_and_further_replicas_need_postgresql(postgres: PostgresServer) -> None:
    with fleet_on(postgres) as fleet:
        done = fleet.servers[0].run("down", "--yes", "--home", str(fleet.servers[0].home))
        assert done.returncode == 0, done.stderr
        for server in fleet.servers:
            assert server.process is not None
            server.process.wait(60)
    with test_server(start=False) as alone:
        refused = alone.run("up", "--no-browser", "--replica", "two", "--home", str(alone.home))
        assert refused.returncode != 0
        assert "database_url" in refused.stderr
        named = alone.run("up", "--no-browser", "--replica", "../x", "--home", str(alone.home))
        assert named.returncode != 0
        assert "no name of a replica" in named.stderr


async def test_reader_of_each_dialect_misses_nothing_when_a_replica_is_killed(
    fleet: Fleet,
) -> None:
    await watched_through_kills(fleet, 300, seed=random.randrange(1, 2**32), many=False)
