"""Logins at providers in the log: who came in, and that somebody was refused.

A refusal costs its sender nothing, so of one kind at most one a minute is written down.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from atoll.domain.errors import AtollError
from atoll.domain.people.principal import SYSTEM, CallOrigin, Principal
from atoll.domain.people.realm import Realm
from atoll.ports.clock import Clock
from atoll.services.journals.events import Events, Note

EVERY = timedelta(minutes=1)
STREAM = "auth"


class LoginLog:
    """The writer of logins. What a provider or a visitor said is never quoted."""

    def __init__(self, events: Events, clock: Clock) -> None:
        self._events = events
        self._clock = clock
        self._written: dict[tuple[str, str], datetime] = {}

    async def entered(self, person: Principal, realm: str, address: str) -> None:
        """Write down that a person logged in, from this address."""
        how = {"how": f"logged in at {realm}"}
        caller = replace(person, origin=CallOrigin(address))
        await self._events.record(caller, Note(STREAM, "auth.login", how))

    async def refused(self, realm: Realm, error: AtollError, address: str) -> None:
        """Write down that a login was refused, from this address."""
        now, key = self._clock.now(), (realm.realm, error.message)
        if now - self._written.get(key, datetime.min.replace(tzinfo=now.tzinfo)) < EVERY:
            return
        self._written[key] = now
        payload = {"realm": realm.realm, "reason": error.message}
        caller = replace(SYSTEM, origin=CallOrigin(address))
        await self._events.record(caller, Note(STREAM, "auth.refused", payload))

    async def ended(self, person: Principal, how: str) -> None:
        """Write down that logins of a person ended."""
        await self._events.record(person, Note(STREAM, "auth.logout", {"how": how}))
