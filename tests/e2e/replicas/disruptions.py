"""Failures of a fleet, one after the other: killed replicas, a restarted bus, cut connections."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

from atoll.testing.server import TestServer
from tests.e2e.replicas.fleet import Fleet
from tests.e2e.replicas.readers import RandomDoors
from tests.peers.nats.server import NatsServer


@dataclass
class Disruptions:
    """What goes wrong, in an order that the dice give. Each kind comes once before any again."""

    fleet: Fleet
    nats: NatsServer
    doors: RandomDoors
    dice: random.Random
    done: Counter[str] = field(default_factory=Counter)

    async def run(self, seconds: float) -> None:
        """Cause failures until that time has passed and each kind came once."""
        end = asyncio.get_running_loop().time() + seconds
        kinds = (self.kill_the_leader, self.kill_a_follower, self.restart_nats, self.cut_database)
        left = list(kinds)
        while left or asyncio.get_running_loop().time() < end:
            left = left or list(kinds)
            kind = left.pop(self.dice.randrange(len(left)))
            await asyncio.sleep(self.dice.uniform(0.2, 1.5))
            await kind()
            self.done[kind.__name__] += 1

    async def kill_the_leader(self) -> None:
        await self._restart([await asyncio.to_thread(self.fleet.leader)])

    async def kill_a_follower(self) -> None:
        """Or two of them, or whoever leads by then."""
        leader = await asyncio.to_thread(self.fleet.leader)
        followers = self.fleet.others(leader)
        await self._restart(self.dice.sample(followers, self.dice.choice((1, 1, 2))))

    async def restart_nats(self) -> None:
        await asyncio.to_thread(self.dice.choice((self.nats.stop, self.nats.kill)))
        await asyncio.sleep(self.dice.uniform(0, 1))
        await asyncio.to_thread(self.nats.start)

    async def cut_database(self) -> None:
        """End the connections of all replicas, of the leader's lock, or a half of all."""
        which = self.dice.choice(("true", "application_name LIKE 'atoll leader%'", "pid % 2 = 0"))
        await asyncio.to_thread(
            self.fleet.postgres.run,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{self.fleet.name}' AND {which}",
        )

    async def _restart(self, servers: list[TestServer]) -> None:
        for server in servers:
            await asyncio.to_thread(server.kill)
        await asyncio.sleep(self.dice.uniform(0, 1))
        for server in servers:
            await asyncio.to_thread(server.start)
            self.doors.urls[self.fleet.servers.index(server)] = server.url
