"""Consumers: harnesses on whose behalf sandboxes exist, their usage, and the end of one of their
sessions."""

from dataclasses import replace

from atoll.domain.overview.usage import ConsumerUsage
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.consumer import (
    ConsumerFilter,
    acting_consumer,
    check_end,
    consumer_facts,
    ends_with,
)
from atoll.domain.sandboxes.sandbox import LIVE, Sandbox, check_may_manage
from atoll.domain.sandboxes.stimulus import ConsumerEnded
from atoll.ports import SandboxQuery, Store, Transaction
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.words.sandboxes import MAX_CONSUMERS

MAX_PAGE = 200


class Consumers:
    """Use cases of consumers. Only what belongs to the caller is ended, or counted."""

    def __init__(self, store: Store, sandboxes: Sandboxes) -> None:
        self._store = store
        self._sandboxes = sandboxes

    async def end(self, caller: Principal, end: ConsumerFilter) -> list[Sandbox]:
        """Expire the sandboxes of scope `session` that belong to this session, run or job; they
        are kept for their retention. Returns those that ended now: none the second time. The log
        names the consumer, as it does of a create. Raises `Invalid` for an end that does not name
        a harness and one id."""
        check_end(end)
        belonging = [
            sandbox
            for sandbox in await self._list_live_sandboxes(caller, end)
            if ends_with(sandbox, end)
        ]
        ended = [await self._end_one(caller, sandbox) for sandbox in belonging]
        return [sandbox for sandbox in ended if sandbox is not None]

    async def usage(
        self, caller: Principal, consumers: ConsumerFilter, *, limit: int = MAX_CONSUMERS
    ) -> list[ConsumerUsage]:
        """Return the usage of the caller's consumers that have these names, the one that created a
        sandbox last first. What nobody created for a harness is in none."""
        async with self._store.read() as rows:
            return await rows.usage.consumers(caller.org_id, caller.id, consumers, limit=limit)

    async def _end_one(self, caller: Principal, sandbox: Sandbox) -> Sandbox | None:
        """End a sandbox. Returns None for one that another call, or its time, has ended."""
        check_may_manage(caller, sandbox)
        over = ConsumerEnded(consumer_facts(caller, sandbox.consumer))
        actor = acting_consumer(caller, sandbox.consumer)
        lived = False

        async def look(_: Transaction, before: Sandbox) -> None:
            nonlocal lived
            lived = before.state in LIVE

        ended = await self._sandboxes.end(sandbox, over, actor, also=look)
        return ended if lived else None

    async def _list_live_sandboxes(
        self, caller: Principal, consumers: ConsumerFilter
    ) -> list[Sandbox]:
        """Return all live sandboxes of these consumers that the caller owns."""
        states = tuple(sorted(LIVE))
        query = SandboxQuery(caller.org_id, caller.id, states, None, MAX_PAGE, consumers=consumers)
        sandboxes: list[Sandbox] = []
        async with self._store.read() as rows:
            while page := await rows.sandboxes.page(query):
                sandboxes += (sandbox for sandbox in page if sandbox.owner == caller.id)
                query = replace(query, before=(page[-1].created_at, page[-1].id))
        return sandboxes
