"""Share links: creation, revocation, and the guests who enter by them.

It says who holds a link and which access that gives; what a guest may then do is decided by the
gate of the surface and by `Terminals`, each for itself.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from atoll.domain.dashboards.dashboard import Dashboard
from atoll.domain.errors import AtollError, LimitReached, NotFound
from atoll.domain.event import EventDraft, Json, dashboard_stream, sandbox_stream
from atoll.domain.ids import DashboardId, GuestId, SandboxId, ShareId
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.people.name import own_name, unlike_names
from atoll.domain.people.principal import GuestAccess, Principal
from atoll.domain.people.share import (
    MAX_GUESTS,
    Guest,
    Share,
    ShareRequest,
    expiry,
    guest_name,
    principal_of,
)
from atoll.domain.sandboxes.sandbox import Sandbox, check_may_manage, check_not_gone
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.words.people import MAX_SHARES

LINK_OVER = "this link is over or was revoked; ask whoever invited you for a new one"

Wrong = Callable[[str, str], AtollError]
"""Counts a wrong secret from a source and gives the error to raise for it, with a sentence."""

Act: TypeAlias = Literal["created", "revoked", "entered"]
"""The act of an event of a link."""


@dataclass(frozen=True, slots=True)
class Entered:
    """A guest who has just entered, with the secret of the session."""

    session: str
    guest: Principal


@dataclass(frozen=True, slots=True)
class Invitation:
    """Offer of a link to whoever holds it: `inviter` is its maker's name, or empty. It opens a
    sandbox or a dashboard."""

    inviter: str
    share: Share
    sandbox: Sandbox | None
    dashboard: Dashboard | None


class Shares:
    """Use cases on share links. Only a sandbox's owner makes, sees and revokes them; those of
    dashboards are made by `services.dashboards.shares`."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        *,
        wrong: Wrong,
        inviter: Callable[[], Principal],
    ) -> None:
        """`inviter` returns the person of this installation, by the name they have now."""
        self._ground = ground
        self._store, self._bus = ground.store, ground.bus
        self._clock, self._identifiers = ground.clock, ground.ids
        self._sandboxes = sandboxes
        self._wrong = wrong
        self._inviter = inviter

    async def create(self, caller: Principal, ref: str, request: ShareRequest) -> tuple[Share, str]:
        """Return a new link and its secret, which is never seen again. Raises `LimitReached`
        beyond 32 links of a sandbox, `Forbidden` for who only shares it, `Conflict` for one that is
        gone."""
        sandbox = await self._find_managed_sandbox(caller, ref)
        check_not_gone(sandbox, "shared")
        now, secret = self._clock.now(), spell_secret(secrets.token_bytes(SECRET_BYTES))
        share = Share(
            id=ShareId(self._identifiers.new("sh")),
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            sandbox_id=sandbox.id,
            terminal_id=request.terminal_id,
            role=request.role,
            name=request.name.strip(),
            mark=fingerprint(secret),
            created_at=now,
            expires_at=expiry(now, request.seconds),
            recording_id=request.recording_id,
        )
        payload: dict[str, Json] = {
            "role": share.role.value,
            "expires_at": share.expires_at.isoformat(),
        }
        if share.name:
            payload["name"] = share.name
        if share.terminal_id is not None:
            payload["terminal_id"] = share.terminal_id
        if share.recording_id is not None:
            payload["recording_id"] = share.recording_id
        async with self._store.begin() as rows:
            await add_link(rows, share, now)
            await rows.events.append(
                (share_event(self._ground, "created", share, caller, payload),)
            )
        self._bus.announce((sandbox_stream(sandbox.id),))
        return share, secret

    async def list(self, caller: Principal, ref: str) -> list[tuple[Share, tuple[Guest, ...]]]:
        """Return the living links of a sandbox, each with its guests."""
        return await living_links(self._ground, (await self._find_managed_sandbox(caller, ref)).id)

    async def invitation(self, secret: str, *, source: str) -> Invitation:
        """Return what a link offers, without opening it. Raises like `enter`."""
        async with self._store.read() as rows:
            share = await rows.shares.marked(fingerprint(secret))
            opened = (None, None) if share is None else await _shared_resource(rows, share)
        if share is None or not any(opened) or share.expires_at <= self._clock.now():
            raise self._wrong(source, LINK_OVER)
        return Invitation(await self.inviter_of(share), share, *opened)

    async def revoke(self, caller: Principal, ref: str, share_id: str) -> None:
        """End a link and its guests' sessions at once. Raises `NotFound`."""
        sandbox = await self._find_managed_sandbox(caller, ref)
        async with self._store.begin() as rows:
            await revoke_link(rows, self._ground, sandbox.id, share_id, actor=caller)
        self._bus.announce((sandbox_stream(sandbox.id),))

    async def enter(
        self, secret: str, name: str | None, *, source: str, session: str | None = None
    ) -> Entered:
        """Open a link: a new guest and its session, or the one whose `session` came by this very
        link before. Raises `Unauthenticated` for a link that is unknown, revoked or over,
        `Invalid` for a name, `LimitReached` beyond 64 guests or after too many wrong ones."""
        known = None if session is None else await self._returning(session, secret)
        if known is not None:
            return known
        now, session = self._clock.now(), spell_secret(secrets.token_bytes(SECRET_BYTES))
        guest_id = GuestId(self._identifiers.new("guest"))
        shown = guest_name(guest_id)
        if name is not None:
            shown = await self._checked_name(name, secret)
        async with self._store.begin() as rows:
            share = await rows.shares.marked(fingerprint(secret))
            if share is None or share.expires_at <= now:
                raise self._wrong(source, LINK_OVER)
            links = await rows.shares.of(share.opens)
            if len(next(guests for each, guests in links if each == share)) >= MAX_GUESTS:
                raise LimitReached(f"This link has {MAX_GUESTS} guests already: ask for another.")
            guest = Guest(
                guest_id, share.id, share.org_id, share.owner, shown, fingerprint(session), now
            )
            await rows.shares.add_guest(guest)
            principal = principal_of(guest, share)
            payload: dict[str, Json] = {
                "guest_id": guest_id,
                "name": shown,
                "role": share.role.value,
            }
            if share.dashboard_id is not None:
                payload = {"guest_id": guest_id, "guest_name": shown}
            entered = share_event(self._ground, "entered", share, principal, payload)
            await rows.events.append((entered,))
        self._bus.announce((entered.stream,))
        return Entered(session, principal)

    async def inviter_of(self, link: Share | GuestAccess) -> str:
        """Return the name of whoever invites by a link: the owner of what it opens; empty for who
        chose none."""
        person = self._inviter()
        if (link.org_id, link.owner) == (person.org_id, person.id):
            return person.name
        async with self._store.read() as rows:
            member = await rows.members.get(link.org_id, link.owner)
        return "" if member is None else member.name

    async def _checked_name(self, name: str, secret: str) -> str:
        """Return a guest's name that may be shown. On a dashboard a guest is among members, whose
        names it may not have either. Raises `Invalid`."""
        async with self._store.read() as rows:
            share = await rows.shares.marked(fingerprint(secret))
            among = share is not None and share.dashboard_id is not None
            members = await rows.members.of(share.org_id) if share is not None and among else []
        shown = own_name(name, "" if share is None else await self.inviter_of(share))
        return unlike_names(shown, (member.name for member in members))

    async def by_session(self, session: str, source: str) -> Principal:
        """Return the guest who holds this session. Raises like `enter`."""
        guest = await self.holder(session)
        if guest is None:
            raise self._wrong(
                source, "your link is over or was revoked; ask whoever invited you for a new one"
            )
        return guest

    async def holder(self, session: str) -> Principal | None:
        """Return the guest who holds this session now; None once the link is over."""
        entry = await self._find_guest(session)
        return None if entry is None else principal_of(*entry)

    async def _returning(self, session: str, secret: str) -> Entered | None:
        entry = await self._find_guest(session)
        if entry is None or entry[1].mark != fingerprint(secret):
            return None
        return Entered(session, principal_of(*entry))

    async def _find_guest(self, session: str) -> tuple[Guest, Share] | None:
        """Return a session's guest and its link, while that lives."""
        async with self._store.read() as rows:
            entry = await rows.shares.guest(fingerprint(session))
        over = entry is not None and entry[1].expires_at <= self._clock.now()
        return None if over else entry

    async def leave(self, session: str) -> None:
        """End a guest's session; an unknown one is not an error."""
        async with self._store.begin() as rows:
            await rows.shares.remove_guest(fingerprint(session))

    async def opened_to(self, guest: Principal) -> tuple[Sandbox | None, Dashboard | None]:
        """Return the sandbox or the dashboard that a guest may see; neither for a caller who is no
        guest."""
        if guest.guest_access is None:
            return None, None
        async with self._store.read() as rows:
            return await _shared_resource(rows, guest.guest_access)

    async def _find_managed_sandbox(self, caller: Principal, ref: str) -> Sandbox:
        """Return a sandbox that the caller may manage. Raises `NotFound` and `Forbidden`."""
        sandbox = await self._sandboxes.get(caller, ref)
        check_may_manage(caller, sandbox)
        return sandbox


async def _shared_resource(
    rows: Transaction, link: Share | GuestAccess
) -> tuple[Sandbox | None, Dashboard | None]:
    """Return the sandbox or the dashboard that a link opens, where it is still there."""
    if link.dashboard_id is not None:
        dashboard = await rows.dashboards.get(link.dashboard_id)
        return None, None if dashboard is None or dashboard.deleted_at is not None else dashboard
    return (None if link.sandbox_id is None else await rows.sandboxes.get(link.sandbox_id)), None


async def is_link_over(rows: Transaction, caller: Principal | None, now: datetime) -> bool:
    """Report whether the link of a guest is over or was revoked; False for anybody else."""
    if caller is None or caller.guest_access is None:
        return False
    share = await rows.shares.get(caller.guest_access.share_id)
    return share is None or share.expires_at <= now


async def add_link(rows: Transaction, share: Share, now: datetime) -> None:
    """Add a link in the caller's transaction. Raises `LimitReached`."""
    await rows.shares.forget(now)
    if len(await rows.shares.of(share.opens)) >= MAX_SHARES:
        raise LimitReached(f"It has {MAX_SHARES} links already: revoke one first.")
    await rows.shares.add(share)


async def living_links(
    ground: Ground, opens: SandboxId | DashboardId
) -> list[tuple[Share, tuple[Guest, ...]]]:
    """Return the living links of a sandbox or dashboard, each with its guests."""
    async with ground.store.read() as rows:
        links = await rows.shares.of(opens)
    return [(share, guests) for share, guests in links if share.expires_at > ground.clock.now()]


async def revoke_link(
    rows: Transaction,
    ground: Ground,
    opens: SandboxId | DashboardId,
    share_id: str,
    *,
    actor: Principal,
) -> None:
    """Revoke one link in the caller's transaction; its guests go. Raises `NotFound`."""
    links = [share for share, _ in await rows.shares.of(opens) if share.id == share_id]
    if not links:
        raise NotFound(f"{opens} has no link {share_id[:80]!r}: list them to see.")
    await end_link(rows, ground, links[0], actor)


async def revoke_links(
    rows: Transaction, ground: Ground, opens: SandboxId | DashboardId, *, actor: Principal
) -> None:
    """Revoke all links of a sandbox or dashboard, in the caller's transaction; their guests go."""
    for share, _ in await rows.shares.of(opens):
        await end_link(rows, ground, share, actor)


async def end_link(rows: Transaction, ground: Ground, share: Share, actor: Principal) -> None:
    """Remove a link in the caller's transaction; its guests go."""
    await rows.shares.remove(share.id)
    await rows.events.append((share_event(ground, "revoked", share, actor, {}),))


def share_event(
    ground: Ground, act: Act, share: Share, actor: Principal, payload: Mapping[str, Json]
) -> EventDraft:
    """Return the event of a link: of its sandbox's stream, or of its dashboard's."""
    if share.dashboard_id is not None:
        kind, stream = f"dashboard.share_{act}", dashboard_stream(share.dashboard_id)
        about: dict[str, Json] = {"dashboard_id": share.dashboard_id}
    else:
        kind, stream = f"share.{act}", sandbox_stream(share.opens)
        about = {"sandbox_id": share.opens}
    return EventDraft(
        id=ground.ids.event(),
        stream=stream,
        event_type=kind,
        at=ground.clock.now(),
        org_id=share.org_id,
        owner=share.owner,
        actor=actor,
        reason=None,
        payload={**about, "share_id": share.id, **payload},
    )
