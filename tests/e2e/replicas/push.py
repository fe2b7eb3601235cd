"""Changes as every dialect tells them, while replicas of a fleet are killed.

Signed reports come in through any replica; each is an event with a URI of its own. A reader of each
dialect learns of every URI, and the browser's stream has each event once and in the log's order.
"""

import asyncio
import hashlib
import hmac
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from atoll.testing.server import TestServer
from tests.e2e.replicas.dialects import Listener, McpReader, Subscriber
from tests.e2e.replicas.fleet import Fleet
from tests.e2e.replicas.readers import AGAIN_SECONDS, CUT, RandomDoors, SseReader
from tests.peers.api import api_of

WRITERS = 8
NAMESPACES = 20
"""A list of resources is among the last 1000 events and has 100 of them: all, by so many."""

PAUSES = (0.5, 10.0)
"""The seconds between two kills: the replica that was killed needs some to be back."""

KIND = "hr.reconciled"
SETTLED_SECONDS = 120.0


@dataclass
class Reports:
    """Reports of Helm releases that are sent until each is acknowledged."""

    session: aiohttp.ClientSession
    doors: RandomDoors
    hook: dict[str, Any]
    left: Iterator[int]
    answers: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Send what is left, one after another."""
        for number in self.left:
            while True:
                if await self._sent(number):
                    break
                await asyncio.sleep(AGAIN_SECONDS)

    async def _sent(self, number: int) -> bool:
        involved = {"kind": "HelmRelease", "namespace": space(number), "name": f"r-{number}"}
        body = json.dumps({"involvedObject": involved, "severity": "info"}).encode()
        signed = hmac.new(self.hook["secret"].encode(), body, hashlib.sha256).hexdigest()
        headers = {"X-Signature": f"sha256={signed}", "Content-Type": "application/json"}
        url, wait = f"{self.doors.any()}{self.hook['address']}", aiohttp.ClientTimeout(total=30)
        try:
            async with self.session.post(url, data=body, headers=headers, timeout=wait) as answer:
                self.answers[f"report {answer.status}"] += 1
                return answer.status == 202
        except CUT as error:
            self.answers[f"report cut: {type(error).__name__}"] += 1
            return False


def space(number: int) -> str:
    return f"n-{number % NAMESPACES}"


@dataclass
class Kills:
    """Replicas that are killed and started again, one after another."""

    fleet: Fleet
    doors: RandomDoors
    dice: random.Random
    many: bool
    done: Counter[str] = field(default_factory=Counter)

    async def one(self) -> None:
        """Kill whoever leads, or another one, and start it again."""
        leader = await asyncio.to_thread(self.fleet.leader)
        chosen = self.dice.choice(self.fleet.servers)
        self.done["leader" if chosen is leader else "follower"] += 1
        await asyncio.to_thread(chosen.kill)
        await asyncio.sleep(self.dice.uniform(0, 1))
        await asyncio.to_thread(chosen.start)
        self.doors.urls[self.fleet.servers.index(chosen)] = chosen.url

    async def until(self, writing: Sequence["asyncio.Task[None]"]) -> None:
        """Kill once, or many times while anything is written."""
        while True:
            await asyncio.sleep(self.dice.uniform(*PAUSES) if self.many else PAUSES[0])
            await self.one()
            if not self.many or all(one.done() for one in writing):
                return


async def watched_through_kills(fleet: Fleet, events: int, *, seed: int, many: bool) -> None:
    """Let every dialect tell of so many events while one replica is killed, or many are."""
    doors = RandomDoors([one.url for one in fleet.servers], random.Random(seed))
    headers = {"Authorization": f"Bearer {fleet.servers[0].token}"}
    async with aiohttp.ClientSession(
        headers=headers,
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None),
    ) as session:
        hook = await asyncio.to_thread(made_hook, fleet.servers[0])
        everybody = await begun(session, doors, events)
        reports = Reports(session, doors, hook, iter(range(events)))
        kills = Kills(fleet, doors, random.Random(seed - 1), many)
        await everybody.suffer(reports, kills)
    everybody.check(fleet)
    print(*sorted(reports.answers.items()), *sorted(kills.done.items()), sep="\n")


def made_hook(server: TestServer) -> dict[str, Any]:
    with api_of(server) as api:
        made: dict[str, Any] = api.call(
            "POST", "/v1/hooks", json={"source": "flux", "name": "chaos"}
        )
    return made


@dataclass
class Everybody:
    """The readers of all dialects, which wait for so many events."""

    events: int
    readers: list[McpReader]
    sse: SseReader

    async def suffer(self, reports: Reports, kills: Kills) -> None:
        """Read, write and kill until every reader has everything, or no more time is left."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            acts = [self.sse.run(), *(one.run() for one in self.readers)]
            reading = [tasks.create_task(act) for act in acts]
            writing = [tasks.create_task(reports.run()) for _ in range(WRITERS)]
            await kills.until(writing)
            await asyncio.wait(writing)
            print(f"{self.events} events in {time.monotonic() - began:.1f} s")
            deadline = time.monotonic() + SETTLED_SECONDS
            while True:
                if self.told_all() or time.monotonic() > deadline:
                    break
                await asyncio.sleep(AGAIN_SECONDS)
            print(f"all told after {time.monotonic() - began:.1f} s")
            for one in reading:
                one.cancel()

    def told_all(self) -> bool:
        """Report whether every reader has as much as there is."""
        numbers = [len(self.sse_ids()), *(len(set(one.found())) for one in self.readers)]
        return min(numbers) >= self.events

    def sse_ids(self) -> list[str]:
        return [one["id"] for one in self.sse.events if one["event_type"] == KIND]

    def check(self, fleet: Fleet) -> None:
        """Compare what the readers have with the log."""
        query = f"SELECT id FROM events WHERE event_type = '{KIND}' ORDER BY position"
        log = [str(row[0]) for row in fleet.query(query)]
        assert len(log) == self.events
        for one in self.readers:
            found = len(one.found())
            print(f"{one.name}: told {found}, connections {one.connections}, cuts {one.cuts}")
        print(f"browser's stream: told {len(self.sse_ids())}, connections {self.sse.connections}")
        uris = {f"atoll://hr/{space(number)}/r-{number}" for number in range(self.events)}
        for one in self.readers:
            lost = uris - set(one.found())
            assert not lost, f"{one.name} missed {len(lost)}: {sorted(lost)[:5]}"
        assert not self.sse.gaps and self.sse_ids() == log, "the browser's stream differs"


async def begun(session: aiohttp.ClientSession, doors: RandomDoors, events: int) -> Everybody:
    """Return a reader of each dialect, which stands at the end of the log."""
    patterns = [f"atoll://hr/{space(number)}/*" for number in range(NAMESPACES)]
    subscriber = Subscriber(session, doors, patterns=patterns)
    await subscriber.begin()
    listener = Listener(session, doors, patterns=patterns)
    return Everybody(events, [subscriber, listener], SseReader(session, doors))
