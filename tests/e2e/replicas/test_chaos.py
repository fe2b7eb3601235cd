"""Three replicas under load, while replicas, the bus and database connections fail.

Afterwards everything that was acknowledged is there, every reader has each event once, and the
machine runs what the database says. The seed is printed: ATOLL_CHAOS_SEED repeats the dice, as far
as a race can be repeated. ATOLL_CHAOS_SECONDS and ATOLL_CHAOS_VIEWERS make it longer and larger.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from atoll.wire.zygote import messages as wire
from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import Home
from tests.e2e.replicas.disruptions import Disruptions
from tests.e2e.replicas.fleet import Fleet, fleet_on
from tests.e2e.replicas.load import Client, Made
from tests.e2e.replicas.readers import LogReader, RandomDoors, SseReader, Viewer, WebSocketReader
from tests.peers.api import Api, api_of, until
from tests.peers.databases.postgres import PostgresServer
from tests.peers.nats.consumer import Consumer, messages
from tests.peers.nats.server import NatsServer, nats_server
from tests.peers.receivers.webhook_receiver import WebhookReceiver, webhook_receiver
from tests.peers.remains import Remains, changed, pids_of, remains, uids_of

SECONDS = float(os.environ.get("ATOLL_CHAOS_SECONDS", "3"))
VIEWERS = int(os.environ.get("ATOLL_CHAOS_VIEWERS", "8"))
SEED = int(os.environ.get("ATOLL_CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
CLIENTS = 3
WATCHED = 2 + VIEWERS // 60
"""Terminals that are watched: each takes 64 viewers."""

MAX_SANDBOXES = "200"
"""More than a minute of load leaves: 60 s of it made 130 and destroyed 78."""

SETTLED_SECONDS = 120.0
"""At most until everything that was asked for is done, on a busy machine."""

COUNTING = (
    "n=0; while [ ! -e /workspace/stop ]; do n=$((n+1)); echo line $n; sleep 0.2; done;"
    " echo the end; cat"
)
PASSING = "('requested', 'provisioning', 'destroying')"

pytestmark = pytest.mark.timeout(SECONDS * 2 + 500)


@dataclass
class World:
    """A fleet with its load and its readers."""

    fleet: Fleet
    nats: NatsServer
    doors: RandomDoors
    session: aiohttp.ClientSession
    receiver: WebhookReceiver
    before: Remains
    sandbox: str = ""
    clients: list[Client] = field(default_factory=list)
    viewers: list[Viewer] = field(default_factory=list)
    sse: LogReader = field(init=False)
    ws: LogReader = field(init=False)
    bus: Consumer = field(default_factory=Consumer)

    def __post_init__(self) -> None:
        self.sse = SseReader(self.session, self.doors)
        self.ws = WebSocketReader(self.session, self.doors)

    def api(self, number: int = 0) -> Any:
        return api_of(self.fleet.servers[number])

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Have all readers run."""
        async with asyncio.TaskGroup() as tasks:
            acts = [self.sse.run(), self.ws.run(), self.bus.run(self.nats.url)]
            acts += [one.run() for one in self.viewers]
            running = [tasks.create_task(act) for act in acts]
            try:
                yield
            finally:
                for one in running:
                    one.cancel()


@asynccontextmanager
async def world(postgres: PostgresServer) -> AsyncIterator[World]:
    """A fleet that runs, with a webhook; it made and destroyed one sandbox before."""
    async with AsyncExitStack() as stack:
        nats = stack.enter_context(nats_server())
        receiver = await stack.enter_async_context(webhook_receiver())
        settings = {"ATOLL_BUS_URL": nats.url, "ATOLL_MAX_SANDBOXES": MAX_SANDBOXES}
        config = "allow_loopback_webhooks = true\n"
        fleet = stack.enter_context(fleet_on(postgres, settings, config=config))
        with api_of(fleet.servers[0]) as api:
            api.act(api.create()["sandbox_id"], "destroy")
            made = api.call("POST", "/v1/webhooks", json={"url": receiver.url})
            receiver.secret = made["secret"]
            before, headers = remains(fleet.servers[0].home), api.headers
        connector = aiohttp.TCPConnector(limit=0)
        session = await stack.enter_async_context(
            aiohttp.ClientSession(headers=headers, connector=connector)
        )
        doors = RandomDoors([one.url for one in fleet.servers], random.Random(SEED))
        yield World(fleet, nats, doors, session, receiver, before)


async def test_replicas_that_are_killed_under_load_lose_and_double_nothing(
    postgres: PostgresServer, summary: Callable[[str], None]
) -> None:
    words = f"ATOLL_CHAOS_SECONDS={SECONDS:g} ATOLL_CHAOS_VIEWERS={VIEWERS}"
    summary(f"chaos: ATOLL_CHAOS_SEED={SEED} {words}")
    async with world(postgres) as made:
        await asyncio.to_thread(watch, made)
        async with made.reading():
            await suffer(made)
            await asyncio.to_thread(settle, made)
            await asyncio.to_thread(check_acknowledged, made)
            await asyncio.to_thread(check_machine, made)
            await check_viewers(made)
            await asyncio.to_thread(end, made)
            await check_readers(made)


def watch(made: World) -> None:
    """Open the terminals that are watched, and seat their viewers."""
    with made.api() as api:
        made.sandbox = api.create(name="watched")["sandbox_id"]
        terminals = [api.terminal(made.sandbox, "sh", "-c", COUNTING) for _ in range(WATCHED)]
    for number in range(VIEWERS):
        where = f"/v1/sandboxes/{made.sandbox}/terminals/{terminals[number % WATCHED]}/attach"
        made.viewers.append(Viewer(made.session, where, f"v{number}", doors=made.doors))


async def suffer(made: World) -> None:
    """Load, and what goes wrong meanwhile."""
    for number in range(CLIENTS):
        dice = random.Random(SEED + number)
        made.clients.append(Client(f"chaos{number}", made.session, made.doors, dice))
    disruptions = Disruptions(made.fleet, made.nats, made.doors, random.Random(SEED - 1))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(disruptions.run(SECONDS))
        for client in made.clients:
            tasks.create_task(client.run(SECONDS))
    told = sum((client.answers for client in made.clients), Counter[str]())
    print(*sorted(told.items()), *sorted(disruptions.done.items()), sep="\n")
    print("log readers reconnected", made.sse.connections, made.ws.connections)
    faults = [fault for client in made.clients for fault in client.faults]
    assert not faults, "\n".join([f"seed {SEED}", *faults])


def settle(made: World) -> None:
    """Wait until nothing is owed and no sandbox is in a passing state."""
    query = made.fleet.query
    passing = f"SELECT id, state FROM sandboxes WHERE state IN {PASSING}"
    until(lambda: query(passing), lambda rows: not rows, SETTLED_SECONDS)
    until(lambda: query("SELECT * FROM owed_work"), lambda rows: not rows, SETTLED_SECONDS)


def check_acknowledged(made: World) -> None:
    """Every acknowledged write is there, whichever replica is asked."""
    for number, client in enumerate(made.clients):
        with made.api(number % len(made.fleet.servers)) as api:
            for sandbox, one in client.made.items():
                check_sandbox(api, sandbox, client)
                check_logged(api, sandbox, one)
            if client.asked:
                saved = api.client.get(f"/v1/profiles/{client.name}")
                version = int(saved.json()["version"].split(".")[0]) if saved.is_success else 0
                assert client.saved <= version <= client.asked, saved.text


def check_logged(api: Api, sandbox: str, one: Made) -> None:
    """Every command and terminal that was acknowledged is in the log: of what still runs soon, of
    others now."""

    def missing() -> set[tuple[str, str]]:
        logged = {(e["event_type"], str(e["payload"].get("id"))) for e in api.events(sandbox)}
        return set(one.begun) - logged

    ended = api.sandbox(sandbox)["state"] == "destroyed"
    lost = missing() if ended else until(missing, lambda left: not left, SETTLED_SECONDS)
    assert not lost, f"{sandbox} is destroyed, and {lost} are not in its log"


def check_sandbox(api: Api, sandbox: str, client: Client) -> None:
    one, state = client.made[sandbox], api.sandbox(sandbox)["state"]
    if one.ended:
        assert state == "destroyed", f"{sandbox} is {state}, and its end was acknowledged"
    elif not one.ending:
        assert state in ("ready", "active"), f"{sandbox}: {api.sandbox(sandbox)}"
        if one.words:
            kept = api.run(sandbox, "cat words").split()
            assert set(one.words) <= set(kept), f"{sandbox} lost {set(one.words) - set(kept)}"
            assert len(kept) == len(set(kept)), f"{sandbox} has a word twice: {kept}"


def check_machine(made: World) -> None:
    """What runs is what the database says, in both directions."""
    home = made.fleet.servers[0].home
    rows = made.fleet.query("SELECT id, state FROM sandboxes WHERE state <> 'destroyed'")
    known = {str(row[0]) for row in rows}
    said = {str(row[0]) for row in rows if row[1] in ("ready", "active")}
    until(lambda: boxes(home), lambda live: live == said, SETTLED_SECONDS)
    present = remains(home, uids_of(home))
    for place in (*present.cgroups, *present.mounts, *present.loops, *present.sockets):
        name = next((part for part in place.split("/") if part.startswith("sb_")), None)
        assert name is None or name.partition(".")[0] in known, f"{place} is nobody's"
    for number in range(len(made.fleet.servers)):
        with made.api(number) as api:
            for sandbox in said:
                assert api.run(sandbox, "echo here") == "here\n"


def boxes(home: Any) -> set[str]:
    """The sandboxes that the zygote runs."""
    told = zygote_process.ask(Home(home), wire.ListBoxes())
    assert isinstance(told, wire.Listed)
    return {box.sandbox_id for box in told.boxes if box.live and not box.maintenance}


async def check_viewers(made: World) -> None:
    """Every viewer saw every line once."""
    with made.api() as api:
        await asyncio.to_thread(api.run, made.sandbox, "touch /workspace/stop")
    for viewer in made.viewers:
        await viewer.sees(b"the end\r\n", SETTLED_SECONDS)
        lines = bytes(viewer.output).split(b"\r\n")
        assert viewer.exact, f"{viewer.client}: {viewer.breaks} {viewer.resyncs}"
        wanted = [b"line %d" % number for number in range(1, len(lines) - 1)]
        assert lines == [*wanted, b"the end", b""], viewer.client
    print("viewers attached", Counter(viewer.starts for viewer in made.viewers))


def end(made: World) -> None:
    """Destroy what is left: nothing of it stays on the machine."""
    home = made.fleet.servers[0].home
    uids = uids_of(home)
    with made.api() as api:
        for row in made.fleet.query("SELECT id FROM sandboxes WHERE state <> 'destroyed'"):
            api.act(str(row[0]), "destroy")
    assert changed(home, made.before, uids, seconds=60) == {}
    assert pids_of(uids) == []


async def check_readers(made: World) -> None:
    """Every reader has what the log has, in its order and once."""
    log = await asyncio.to_thread(whole, made)
    streams: dict[str, list[int]] = {}
    for _position, _id, stream, seq in log:
        streams.setdefault(stream, []).append(seq)
    for stream, seqs in streams.items():
        assert seqs == list(range(1, len(seqs) + 1)), f"{stream}: {seqs}"
    for name, reader in (("sse", made.sse), ("ws", made.ws)):
        seen = [(e["position"], e["id"], e["stream"], e["seq"]) for e in reader.events]
        assert not reader.gaps
        assert seen == log, f"{name} differs"
    await check_bus(made, [row[1] for row in log])
    check_posted(made, streams)


async def check_bus(made: World, ids: list[str]) -> None:
    """The stream has the log in its order, and the consumer each event once: in order, but for
    messages that were lost on the way to it and came again."""
    stored, seen = await messages(made.nats.url), made.bus.seen
    assert stored == ids, "the stream differs"
    late = [one for one in seen if one in made.bus.again]
    print("messages", len(ids), "handled after a loss", len(late), "repeated", made.bus.repeated)
    assert len(seen) == len(ids) and set(seen) == set(ids)
    on_time = [one for one in ids if one not in made.bus.again]
    assert [one for one in seen if one not in made.bus.again] == on_time


def whole(made: World) -> list[tuple[int, str, str, int]]:
    """The log, once all readers have come to its end."""
    statement = "SELECT position, id, stream, seq FROM events ORDER BY position"

    def read() -> list[tuple[Any, ...]]:
        return made.fleet.query(statement)

    def everybody(log: list[tuple[Any, ...]]) -> bool:
        newest = log[-1][0]
        ids = {row[1] for row in log if row[2].startswith("sandbox:")}
        return (
            made.sse.position >= newest
            and made.ws.position >= newest
            and len(made.bus.seen) >= len(log)
            and len({one["data"]["id"] for one in made.receiver.accepted} & ids) >= posted(log)
        )

    def posted(log: list[tuple[Any, ...]]) -> int:
        first = made.receiver.accepted[0]["data"]["position"]
        return sum(row[0] >= first and row[2].startswith("sandbox:") for row in log)

    return until(read, everybody, SETTLED_SECONDS)


def check_posted(made: World, streams: dict[str, list[int]]) -> None:
    """The webhook's receiver has each stream from its first event to the last, in order, once
    those are dropped that have an id it knows."""
    came: dict[str, dict[str, int]] = {}
    for message in made.receiver.accepted:
        event = message["data"]
        came.setdefault(event["stream"], {}).setdefault(event["id"], event["seq"])
    for stream, events in came.items():
        seqs = list(events.values())
        assert seqs == list(range(seqs[0], streams[stream][-1] + 1)), f"{stream}: {seqs}"
