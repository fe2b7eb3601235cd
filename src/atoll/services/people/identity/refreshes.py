"""Refreshes: claims of people who stay logged in are read again, so that roles follow the provider.

The leader alone does so, since a refresh token may be valid once. Each is claimed before it is
sent, so that a leader that takes over meanwhile does not send the same token, and one that ends
waits for the answers under way. A provider that is away changes nothing, and one that asks to wait
is left alone for that time; one that has revoked a login ends its session.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError, Forbidden, Unavailable
from atoll.domain.people.claims import read_claims
from atoll.domain.people.person import PersonSession
from atoll.domain.people.realm import Realm
from atoll.ports.outside.identity import IdentityProvider, ProviderBusy
from atoll.ports.vault import Sealed, Vault
from atoll.services.ground import Ground
from atoll.services.people.identity.claimed import ClaimedMemberships
from atoll.services.people.identity.login_log import LoginLog
from atoll.services.people.identity.provider_logins import close_grant, open_grant
from atoll.services.people.identity.sessions import PersonSessions, as_member
from atoll.services.task_runner import complete

LOOK_EVERY: Final = timedelta(seconds=15)
PAGE: Final = 64
AT_ONCE: Final = 4
ANSWER_TIME: Final = timedelta(seconds=25)
"""The time in which a provider answers; longer than any request lasts. A refresh of a process that
is gone is repeated then: many providers forgive that for about half a minute."""

MAX_ASKED: Final = timedelta(hours=1)
"""The bound on a time that a provider asks to wait."""

_log = structlog.get_logger(__name__)


class Refreshes:
    """The readers of claims of sessions."""

    def __init__(
        self,
        ground: Ground,
        realms: Mapping[str, Realm],
        provider: IdentityProvider,
        *,
        vault: Vault,
        sessions: PersonSessions,
        claimed: ClaimedMemberships,
        log: LoginLog,
    ) -> None:
        self._ground = ground
        self._realms = realms
        self._provider = provider
        self._vault = vault
        self._sessions = sessions
        self._claimed = claimed
        self._log = log
        self._pauses: dict[str, datetime] = {}
        """When realms may be asked again."""

    async def run(self) -> None:
        """Refresh what is due, until cancelled."""
        while True:
            try:
                await self.refresh_due()
            except AtollError as error:
                _log.warning("logins_not_refreshed", reason=error.message)
            await self._ground.clock.sleep_until(self._ground.clock.now() + LOOK_EVERY)

    async def refresh_due(self) -> int:
        """Refresh the sessions whose claims are old; return how many were looked at."""
        now = self._ground.clock.now()
        before = now - self._sessions.lives.refresh
        self._pauses = {realm: until for realm, until in self._pauses.items() if now < until}
        async with self._ground.store.read() as rows:
            due = await rows.person_sessions.due(before, PAGE, without=self._pauses)
        room = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as group:
            for session in due:
                group.create_task(self._try_refresh(session, room))
        return len(due)

    async def _try_refresh(self, session: PersonSession, room: asyncio.Semaphore) -> None:
        """Refresh a session, unless its realm pauses or another process claimed it."""
        async with room:
            try:
                if session.realm not in self._pauses and await self._claim(session):
                    await complete(self._settle(session))
            except AtollError as error:  # of the store: it is due again after `ANSWER_TIME`
                _log.warning("login_not_refreshed", session=session.id, reason=error.message)

    async def _claim(self, session: PersonSession) -> bool:
        """Have it be due again once its answer is overdue. Returns False where another did."""
        again = self._ground.clock.now() + ANSWER_TIME
        async with self._ground.store.begin() as rows:
            return await rows.person_sessions.claim(session, again - self._sessions.lives.refresh)

    async def _settle(self, session: PersonSession) -> None:
        try:
            await self._refresh(session)
        except Forbidden as error:
            await self._end(session, error)
        except ProviderBusy as error:
            self._pause(session.realm, error.after)
            await self._mark_checked(session)
            _log.info("login_not_refreshed", session=session.id, reason=error.message)
        except AtollError as error:
            # Its turn comes again after all others.
            await self._mark_checked(session)
            level = _log.info if isinstance(error, Unavailable) else _log.warning
            level("login_not_refreshed", session=session.id, reason=error.message)

    def _pause(self, realm: str, after: timedelta | None) -> None:
        """Send no request about this realm for as long as its provider asks to wait."""
        if after is not None:
            self._pauses[realm] = self._ground.clock.now() + min(after, MAX_ASKED)

    async def _refresh(self, session: PersonSession) -> None:
        realm = self._realms.get(session.realm)
        async with self._ground.store.read() as rows:
            sealed = await rows.person_sessions.grant(session.id)
            person = await rows.people.get(session.person)
        grant = open_grant(self._vault, session.person, sealed)
        if realm is None or person is None or realm.issuer != session.issuer:
            await self._mark_checked(session)
            return
        if not grant.refresh_token:
            raise Forbidden("what the provider gave cannot be opened any more")
        answer = await self._provider.refresh(realm, grant.refresh_token, person.subject)
        await self._mark_checked(session, close_grant(self._vault, session.person, answer, grant))
        self._pause(realm.realm, answer.after)
        if answer.claims:
            await self._claimed.apply(realm, read_claims(realm, answer.claims))

    async def _mark_checked(self, session: PersonSession, grant: Sealed | None = None) -> None:
        """Store that a session was checked now, with its new grant if there is one."""
        async with self._ground.store.begin() as rows:
            await rows.person_sessions.checked(session.id, self._ground.clock.now(), grant)

    async def _end(self, session: PersonSession, error: AtollError) -> None:
        async with self._ground.store.begin() as rows:
            person = await rows.people.get(session.person)
            await rows.person_sessions.remove(session.id)
            principal = None if person is None else await as_member(rows, person, session.org_id)
        _log.info("login_ended", session=session.id, reason=error.message)
        if principal is not None:
            await self._log.ended(principal, "the provider ended the login")
