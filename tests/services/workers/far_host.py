"""A dialled host in a test: it follows offers and delivers what it is told to."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.login import fingerprint
from atoll.domain.people.principal import LOCAL_PERSON, Principal, TokenAccess, WorkerAccess
from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.dialled import HostOffer, StartOffer
from atoll.domain.workers.ledger import Response, WorkerRequest
from atoll.ports.outside.worker_host import HostEntry
from atoll.services.ground import Ground
from atoll.services.workers.desktops import Desktops
from atoll.services.workers.intake import HostBatch, HostIntake, Taken
from atoll.wire.words.walls import IsolationLevel

WALL = Isolation(IsolationLevel.CONTAINER, "bubblewrap")
NEVER = datetime.max.replace(tzinfo=UTC)


def item(line: str = "", request_id: str = "", result: str | None = None) -> HostEntry:
    """An item of a batch, before it has a number."""
    receipt = None if result is None else Response(result)
    return HostEntry(0, NEVER, line, request_id, receipt)


async def host_of(ground: Ground, token: str) -> Principal:
    """The caller that a lease's token stands for, as the server finds it."""
    async with ground.store.read() as rows:
        lease = await rows.host_leases.by_mark(fingerprint(token))
    assert lease is not None
    access = WorkerAccess(lease.key, lease.worker_id, lease.epoch)
    org, owner = OrgId(lease.org_id), PrincipalId(lease.owner)
    return Principal(org, owner, LOCAL_PERSON.kind, token=TokenAccess("", NEVER, worker=access))


@dataclass
class FarHost:
    """The desktop `laptop` of the local person. It answers each request at once, unless its method
    is in `held`."""

    ground: Ground
    desktops: Desktops
    intake: HostIntake
    held: set[str] = field(default_factory=set)
    tokens: dict[int, str] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    seen: list[HostOffer] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    turns: asyncio.Lock = field(default_factory=asyncio.Lock)
    refuses: Callable[[HostOffer], bool] = lambda _: False

    async def link(self) -> None:
        await self.desktops.link(LOCAL_PERSON, "laptop")
        await self.desktops.heard(LOCAL_PERSON, "laptop", WALL)

    async def run(self) -> None:
        async for offer in self.desktops.offers(LOCAL_PERSON, "laptop"):
            self.seen.append(offer)
            self.arrived.set()
            if isinstance(offer.command, StartOffer):
                self.tokens[offer.epoch] = offer.command.token
                self.first.setdefault(offer.created.worker_id, offer.command.token)
            if not self.refuses(offer):
                await self._answer(offer)

    async def offered(self, request_id: str) -> None:
        """Wait until this was offered."""
        async with asyncio.timeout(10):
            while request_id not in [one.request_id for one in self.seen]:
                self.arrived.clear()
                await self.arrived.wait()

    async def deliver(self, *items: HostEntry, epoch: int = 1, first: int | None = None) -> Taken:
        caller = await host_of(self.ground, self.tokens[epoch])
        worker = caller.token.worker.worker_id  # type: ignore[union-attr]
        async with self.turns:  # two at once would have one number
            begin = self.sent.get(epoch, 0) + 1 if first is None else first
            taken = await self.intake.deliver(caller, worker, HostBatch(epoch, begin, items))
            self.sent[epoch] = taken.expected - 1
        return taken

    async def say(self, number: int, epoch: int = 1) -> Taken:
        return await self.deliver(
            item(f'{{"method":"item/completed","params":{number}}}'), epoch=epoch
        )

    async def beat(self, epoch: int = 1) -> None:
        await self.deliver(epoch=epoch)
        await self.intake.store()
        await asyncio.sleep(0)

    async def _answer(self, offer: HostOffer) -> None:
        command = offer.command
        result = json.dumps({"agent_id": f"agent-{offer.epoch}"})
        if isinstance(command, WorkerRequest):
            if command.method in self.held:
                return
            result = "{}"
        await self.deliver(item(request_id=offer.request_id, result=result), epoch=offer.epoch)
