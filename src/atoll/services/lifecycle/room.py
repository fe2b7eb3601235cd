"""Room for sandboxes and sessions: quotas, checked in the transaction that takes the room.

Writing transactions are serialised, so two requests at once never take the same last place.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.quota import (
    Quota,
    QuotaUsage,
    check_sandbox,
    check_session,
    usage_of,
    with_default_limits,
)
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.wall.resources import Resources
from atoll.ports import Transaction
from atoll.ports.store.people.quotas import OPENING
from atoll.services.ground import Ground

T = TypeVar("T")

OPENING_LIFE = timedelta(minutes=5)
"""The longest that opening takes; the place of a control plane that died is free after it."""


class SandboxRoom:
    """The room of sandboxes. `defaults` are limits of those whose profile names none, where a quota
    counts them."""

    def __init__(self, defaults: Resources) -> None:
        self._defaults = defaults

    async def take(self, rows: Transaction, sandbox: Sandbox) -> Sandbox:
        """Return a sandbox about to start, with every limit that its owner's or its organization's
        quota counts. Raises `LimitReached` when it does not fit."""
        for limit in await _limits(rows, sandbox):
            sandbox = with_default_limits(sandbox, limit.quota, self._defaults)
            held = await rows.sandboxes.unfinished(limit.org_id, limit.owner)
            others = (other for other in held if other.id != sandbox.id)
            used = usage_of(others, self._defaults)
            check_sandbox(limit.quota, used, sandbox, whose=limit.whose)
        return sandbox

    async def used(self, rows: Transaction, org_id: OrgId, owner: PrincipalId | None) -> QuotaUsage:
        """Return what an organization, or with `owner` a member of it, holds."""
        held = await rows.sandboxes.unfinished(org_id, owner)
        sessions = await rows.sessions.count(org_id, owner)
        return usage_of(held, self._defaults, sessions=sessions)


class SessionRoom:
    """The places of terminals and machine agents."""

    def __init__(self, ground: Ground) -> None:
        self._store, self._clock = ground.store, ground.clock

    async def opened(
        self, sandbox: Sandbox, opening: Callable[[], Awaitable[T]], id_of: Callable[[T], str]
    ) -> T:
        """Return what `opening` opens, once there is a place for it. Raises `LimitReached`, and
        what `opening` raises; its place is then free again."""
        async with self._store.read() as rows:
            limited = await _limits(rows, sandbox)
        if not limited:
            # The runtime reports it: whoever sets a quota later finds it counted.
            return await opening()
        place = f"{OPENING}{secrets.token_hex(8)}"
        await self._take(sandbox, place)
        session: str | None = None
        try:
            record = await opening()
            session = id_of(record)
            return record
        finally:
            async with self._store.begin() as rows:
                await rows.sessions.remove(sandbox.id, place)
                if session is not None:
                    await rows.sessions.put(sandbox, session, self._clock.now())

    async def _take(self, sandbox: Sandbox, place: str) -> None:
        now = self._clock.now()
        async with self._store.begin() as rows:
            await rows.sessions.forget(OPENING, now - OPENING_LIFE)
            for limit in await _limits(rows, sandbox):
                held = await rows.sessions.count(limit.org_id, limit.owner)
                check_session(limit.quota, QuotaUsage(sessions=held), whose=limit.whose)
            await rows.sessions.put(sandbox, place, now)


@dataclass(frozen=True, slots=True)
class _Limit:
    """A quota that a sandbox counts against; `owner` None: of the whole organization."""

    quota: Quota
    org_id: OrgId
    owner: PrincipalId | None

    @property
    def whose(self) -> str:
        return "This organization" if self.owner is None else "The owner of this sandbox"


async def _limits(rows: Transaction, sandbox: Sandbox) -> list[_Limit]:
    quotas = [
        (owner, await rows.quotas.get(sandbox.org_id, owner)) for owner in (sandbox.owner, None)
    ]
    return [_Limit(quota, sandbox.org_id, owner) for owner, quota in quotas if quota is not None]
