"""Consumers: harnesses on whose behalf sandboxes exist, and the end of one of their sessions."""

from dataclasses import replace

from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.consumer import ConsumerEnd, acting_consumer, consumer_facts, ends_with
from atoll.domain.sandboxes.sandbox import LIVE, Sandbox, check_may_manage
from atoll.domain.sandboxes.stimulus import ConsumerEnded
from atoll.ports import SandboxQuery, Store
from atoll.services.sandboxes.sandboxes import Sandboxes

MAX_PAGE = 200


class Consumers:
    """Use cases of consumers. Only what belongs to the caller is ended."""

    def __init__(self, store: Store, sandboxes: Sandboxes) -> None:
        self._store = store
        self._sandboxes = sandboxes

    async def end(self, caller: Principal, end: ConsumerEnd) -> list[Sandbox]:
        """Expire the sandboxes of scope `session` that belong to this session, run or job; they
        are kept for their retention. Returns those that ended now: none the second time. The log
        names the consumer, as it does of a create."""
        belonging = [
            sandbox
            for sandbox in await self._list_live_sandboxes(caller)
            if ends_with(sandbox, end)
        ]
        return [await self._end_one(caller, sandbox) for sandbox in belonging]

    async def _end_one(self, caller: Principal, sandbox: Sandbox) -> Sandbox:
        check_may_manage(caller, sandbox)
        over = ConsumerEnded(consumer_facts(caller, sandbox.consumer))
        actor = acting_consumer(caller, sandbox.consumer)
        return await self._sandboxes.end(sandbox, over, actor)

    async def _list_live_sandboxes(self, caller: Principal) -> list[Sandbox]:
        """Return all live sandboxes that the caller owns."""
        states = tuple(sorted(LIVE))
        query = SandboxQuery(caller.org_id, caller.id, states, None, MAX_PAGE)
        sandboxes: list[Sandbox] = []
        async with self._store.read() as rows:
            while page := await rows.sandboxes.page(query):
                sandboxes += (sandbox for sandbox in page if sandbox.owner == caller.id)
                query = replace(query, before=(page[-1].created_at, page[-1].id))
        return sandboxes
