"""Visits: links to ports of sandboxes, and the browsers that came by them.

A link is good for one use. What its maker may do is judged again for each request, at the latest
after `FRESH_SECONDS`; so a visit ends with a logout, a token, a role, or the preview itself.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from atoll.domain.errors import Forbidden, NotFound, Unavailable
from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.bearer import read_capabilities
from atoll.domain.people.capability import Capability
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.people.principal import Principal, TokenAccess
from atoll.domain.previews.visit import MAX_VISITS, PortAddress, Visit, link_ends, open_visit
from atoll.domain.sandboxes.sandbox import Sandbox, may_manage
from atoll.ports.runtime import Channel
from atoll.services.ground import Ground
from atoll.services.people.logins import Logins
from atoll.services.people.tokens import Tokens, is_bound, parent_of
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.contract.ports import list_ports

FRESH_SECONDS: Final = 2.0
MAX_KNOWN: Final = 4096

_OVER = "this link was used already or is over: open the preview from Atoll again"


@dataclass(frozen=True, slots=True)
class AdmittedVisit:
    """A visit that holds, and its maker as a caller who may do what the visit allows."""

    visit: Visit
    caller: Principal


@dataclass(frozen=True, slots=True)
class _Known:
    admission: AdmittedVisit
    at: datetime


class Visits:
    """Use cases on links and visits."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        *,
        access: RuntimeAccess,
        logins: Logins,
        tokens: Tokens,
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._access = access
        self._logins = logins
        self._tokens = tokens
        self._known: dict[str, _Known] = {}

    async def link(
        self,
        caller: Principal,
        sandbox: Sandbox,
        address: PortAddress,
        *,
        seconds: int,
        session: str | None,
    ) -> tuple[Visit, str]:
        """Return a new ticket and its secret, which is never seen again. `session` is the secret of
        the caller's browser, if it came by one. Raises `Forbidden` for a guest, and for a token
        that is bound to a sandbox or to streams."""
        if is_bound(caller) or await self._tokens.owner(caller.org_id, caller.id) is None:
            raise Forbidden("only a member of the organization opens previews: log in as one")
        now, secret = self._ground.clock.now(), spell_secret(secrets.token_bytes(SECRET_BYTES))
        token = caller.token
        ends = None if token is None else token.expires_at
        ticket = Visit(
            mark=fingerprint(secret),
            is_ticket=True,
            org_id=sandbox.org_id,
            owner=caller.id,
            sandbox_id=sandbox.id,
            address=address,
            login=self._logins.origin(session) if token is None else token.origin,
            capabilities=tuple(sorted(capability.value for capability in caller.capabilities)),
            created_at=now,
            expires_at=link_ends(now, seconds, ends),
            login_ends_at=ends,
        )
        async with self._ground.store.begin() as rows:
            await rows.preview_visits.forget(now)
            await rows.preview_visits.add(ticket, most=MAX_VISITS)
            await rows.events.append((self._link_event(ticket, sandbox, caller),))
        self._ground.bus.announce((sandbox_stream(sandbox.id),))
        return ticket, secret

    async def close(self, caller: Principal, sandbox: Sandbox, port: int) -> None:
        """End the caller's links and visits to a port; who manages the sandbox ends everybody's."""
        everybody = may_manage(caller, sandbox)
        async with self._ground.store.begin() as rows:
            for visit in await rows.preview_visits.of(sandbox.id):
                if visit.address.port == port and (everybody or visit.owner == caller.id):
                    await rows.preview_visits.remove(visit.mark)
        self._known.clear()

    async def enter(self, secret: str, label: str, *, source: str) -> tuple[Visit, str]:
        """Trade a ticket for a visit at the origin `label`; return it and its secret. Raises
        `Unauthenticated` for a ticket that is unknown, used, over or for another origin,
        `LimitReached` after too many of those from `source`."""
        now, session = self._ground.clock.now(), spell_secret(secrets.token_bytes(SECRET_BYTES))
        async with self._ground.store.begin() as rows:
            ticket = await rows.preview_visits.marked(fingerprint(secret))
            good = ticket is not None and ticket.is_ticket and ticket.address.label == label
            if ticket is None or not good or ticket.expires_at <= now:
                raise self._logins.wrong(source, _OVER)
            await rows.preview_visits.remove(ticket.mark)
            visit = open_visit(ticket, fingerprint(session), now)
            await rows.preview_visits.add(visit, most=MAX_VISITS)
        return visit, session

    async def admitted(self, session: str, label: str) -> AdmittedVisit | None:
        """Return the visit of this secret at the origin `label`; None when it does not hold. Raises
        `Unavailable` when the store does not answer."""
        mark, now = fingerprint(session), self._ground.clock.now()
        entry = self._known.get(mark)
        if entry is None or now - entry.at > timedelta(seconds=FRESH_SECONDS):
            admission = await self._admit_visit(mark)
            if admission is None:
                self._known.pop(mark, None)
                return None
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            entry = self._known[mark] = _Known(admission, now)
        visit = entry.admission.visit
        return entry.admission if visit.address.label == label and visit.expires_at > now else None

    async def holds(self, visit: Visit) -> bool:
        """Return whether a visit still holds. Called at intervals while a connection lasts."""
        try:
            return await self._admit_visit(visit.mark) is not None
        except Unavailable:
            # Nobody can say: who may stay comes back by itself, a revoked one must not stay.
            return False

    @asynccontextmanager
    async def dial(self, admission: AdmittedVisit) -> AsyncIterator[Channel]:
        """Yield a channel to the port. Raises as `Sandboxes.runtime`, and `Unavailable`."""
        visit = admission.visit
        _, client = await self._access.runtime(admission.caller, visit.sandbox_id, activity=True)
        async with client.attach(f"/ports/{visit.address.port}") as channel:
            yield channel

    async def is_listening(self, admission: AdmittedVisit) -> bool:
        """Return whether something listens at the port. Raises as `Sandboxes.runtime`."""
        visit = admission.visit
        _, client = await self._access.runtime(admission.caller, visit.sandbox_id)
        return visit.address.port in (await client.call(list_ports())).ports

    async def _admit_visit(self, mark: str) -> AdmittedVisit | None:
        """Return the visit while its login lasts and its maker may still see the sandbox."""
        async with self._ground.store.read() as rows:
            visit = await rows.preview_visits.marked(mark)
        if visit is None or visit.is_ticket or visit.expires_at <= self._ground.clock.now():
            return None
        holds, token = await self._login_state(visit.login)
        if not holds:
            return None
        owner = await self._tokens.owner(visit.org_id, visit.owner)
        if owner is None:
            return None
        given = owner.capabilities & read_capabilities(visit.capabilities)
        caller = replace(owner, interactive=False, capabilities=given, token=token)
        if not caller.may(Capability.EXEC_USE):
            return None
        try:
            await self._sandboxes.get(caller, SandboxId(visit.sandbox_id))
        except NotFound:
            return None
        return AdmittedVisit(visit, caller)

    async def _login_state(self, login: str) -> tuple[bool, TokenAccess | None]:
        """Return whether the login or token that a visit was made from still exists, and the bounds
        of a token: who comes by one is no person."""
        parent = parent_of(login)
        if parent is None:
            return await self._logins.stands(login), None
        caller = await self._tokens.by_id(parent)
        return caller is not None, None if caller is None else caller.token

    def _link_event(self, ticket: Visit, sandbox: Sandbox, caller: Principal) -> EventDraft:
        payload: dict[str, Json] = {
            "sandbox_id": sandbox.id,
            "port": ticket.address.port,
            "expires_at": ticket.expires_at.isoformat(),
        }
        if ticket.address.preview_id is not None:
            payload["preview_id"] = ticket.address.preview_id
        return EventDraft(
            id=self._ground.ids.event(),
            stream=sandbox_stream(sandbox.id),
            event_type="preview.linked",
            at=self._ground.clock.now(),
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            actor=caller,
            reason=None,
            payload=payload,
        )
