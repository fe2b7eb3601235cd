"""Share links: creation, revocation, and the guests who enter by them.

It says who holds a link and which access that gives; what a guest may then do is decided by the
gate of the surface and by `Terminals`, each for itself.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atoll.domain.errors import AtollError, LimitReached, NotFound
from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.ids import ShareId
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.people.name import own_name
from atoll.domain.people.principal import GuestAccess, Principal
from atoll.domain.people.share import (
    MAX_GUESTS,
    MAX_SHARES,
    Guest,
    Share,
    ShareRequest,
    expiry,
    guest_name,
    principal_of,
)
from atoll.domain.sandbox.sandbox import Sandbox, check_may_manage
from atoll.services.ground import Ground
from atoll.services.sandboxes.sandboxes import Sandboxes

_OVER = "this link is over or was revoked; ask whoever invited you for a new one"

Wrong = Callable[[str, str], AtollError]
"""Counts a wrong secret from a source and gives the error to raise for it, with a sentence."""


@dataclass(frozen=True, slots=True)
class Entered:
    """A guest who has just entered, with the secret of the session."""

    session: str
    guest: Principal


@dataclass(frozen=True, slots=True)
class Invitation:
    """Offer of a link to whoever holds it: `inviter` is its maker's name, or empty."""

    inviter: str
    sandbox: Sandbox
    share: Share


class Shares:
    """Use cases on share links. Only a sandbox's owner makes, sees and revokes them."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        *,
        wrong: Wrong,
        inviter: Callable[[], Principal],
    ) -> None:
        """`inviter` returns the person of this installation, by the name they have now."""
        self._store, self._bus = ground.store, ground.bus
        self._clock, self._identifiers = ground.clock, ground.ids
        self._sandboxes = sandboxes
        self._wrong = wrong
        self._inviter = inviter

    async def create(self, caller: Principal, ref: str, request: ShareRequest) -> tuple[Share, str]:
        """Return a new link and its secret, which is never seen again. Raises `LimitReached`
        beyond 32 links of a sandbox, `Forbidden` for who only shares it."""
        sandbox = await self._own(caller, ref)
        now, secret = self._clock.now(), spell_secret(secrets.token_bytes(SECRET_BYTES))
        share = Share(
            id=self._identifiers.share(),
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
        told: dict[str, Json] = {
            "role": share.role.value,
            "expires_at": share.expires_at.isoformat(),
        }
        if share.name:
            told["name"] = share.name
        if share.terminal_id is not None:
            told["terminal_id"] = share.terminal_id
        if share.recording_id is not None:
            told["recording_id"] = share.recording_id
        async with self._store.begin() as rows:
            await rows.shares.forget(now)
            if len(await rows.shares.of(sandbox.id)) >= MAX_SHARES:
                raise LimitReached(
                    f"Sandbox {sandbox.name} has {MAX_SHARES} links already: revoke one first."
                )
            await rows.shares.add(share)
            await rows.events.append((self._draft("share.created", share, caller, told),))
        self._bus.announce((sandbox_stream(sandbox.id),))
        return share, secret

    async def list(self, caller: Principal, ref: str) -> list[tuple[Share, tuple[Guest, ...]]]:
        """Return the living links of a sandbox, each with its guests."""
        sandbox = await self._own(caller, ref)
        now = self._clock.now()
        async with self._store.read() as rows:
            found = await rows.shares.of(sandbox.id)
        return [(share, guests) for share, guests in found if share.expires_at > now]

    async def invitation(self, secret: str, *, source: str) -> Invitation:
        """Return what a link offers, without opening it. Raises like `enter`."""
        async with self._store.read() as rows:
            share = await rows.shares.marked(fingerprint(secret))
            sandbox = None if share is None else await rows.sandboxes.get(share.sandbox_id)
        if share is None or sandbox is None or share.expires_at <= self._clock.now():
            raise self._wrong(source, _OVER)
        return Invitation(await self.inviter_of(share), sandbox, share)

    async def revoke(self, caller: Principal, ref: str, share_id: str) -> None:
        """End a link and its guests' sessions at once. Raises `NotFound`."""
        sandbox = await self._own(caller, ref)
        async with self._store.begin() as rows:
            found = [share for share, _ in await rows.shares.of(sandbox.id) if share.id == share_id]
            if not found:
                raise NotFound(
                    f"Sandbox {sandbox.name} has no link {share_id[:80]!r}: list them to see."
                )
            await rows.shares.remove(ShareId(share_id))
            await rows.events.append((self._draft("share.revoked", found[0], caller, {}),))
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
        guest_id = self._identifiers.guest()
        shown = guest_name(guest_id)
        if name is not None:
            shown = own_name(name, await self._host_of(secret))
        async with self._store.begin() as rows:
            share = await rows.shares.marked(fingerprint(secret))
            if share is None or share.expires_at <= now:
                raise self._wrong(source, _OVER)
            links = await rows.shares.of(share.sandbox_id)
            if len(next(guests for each, guests in links if each == share)) >= MAX_GUESTS:
                raise LimitReached(f"This link has {MAX_GUESTS} guests already: ask for another.")
            guest = Guest(
                guest_id, share.id, share.org_id, share.owner, shown, fingerprint(session), now
            )
            await rows.shares.add_guest(guest)
            principal = principal_of(guest, share)
            told = {"guest_id": guest_id, "name": shown, "role": share.role.value}
            await rows.events.append((self._draft("share.entered", share, principal, told),))
        self._bus.announce((sandbox_stream(share.sandbox_id),))
        return Entered(session, principal)

    async def inviter_of(self, link: Share | GuestAccess) -> str:
        """Return the name of whoever invites by a link: its sandbox's owner; empty for who chose
        none."""
        person = self._inviter()
        if (link.org_id, link.owner) == (person.org_id, person.id):
            return person.name
        async with self._store.read() as rows:
            member = await rows.members.get(link.org_id, link.owner)
        return "" if member is None else member.name

    async def _host_of(self, secret: str) -> str:
        async with self._store.read() as rows:
            share = await rows.shares.marked(fingerprint(secret))
        return "" if share is None else await self.inviter_of(share)

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
        found = await self._find_guest(session)
        return None if found is None else principal_of(*found)

    async def _returning(self, session: str, secret: str) -> Entered | None:
        found = await self._find_guest(session)
        if found is None or found[1].mark != fingerprint(secret):
            return None
        return Entered(session, principal_of(*found))

    async def _find_guest(self, session: str) -> tuple[Guest, Share] | None:
        """Return a session's guest and its link, while that lives."""
        async with self._store.read() as rows:
            found = await rows.shares.guest(fingerprint(session))
        over = found is not None and found[1].expires_at <= self._clock.now()
        return None if over else found

    async def leave(self, session: str) -> None:
        """End a guest's session; an unknown one is not an error."""
        async with self._store.begin() as rows:
            await rows.shares.remove_guest(fingerprint(session))

    async def sandbox_of(self, guest: Principal) -> Sandbox | None:
        """Return the sandbox a guest may see; None for a caller who is no guest."""
        if guest.guest_access is None:
            return None
        async with self._store.read() as rows:
            return await rows.sandboxes.get(guest.guest_access.sandbox_id)

    async def _own(self, caller: Principal, ref: str) -> Sandbox:
        sandbox = await self._sandboxes.get(caller, ref)
        check_may_manage(caller, sandbox)
        return sandbox

    def _draft(
        self, kind: str, share: Share, actor: Principal, told: Mapping[str, Json]
    ) -> EventDraft:
        return EventDraft(
            id=self._identifiers.event(),
            stream=sandbox_stream(share.sandbox_id),
            event_type=kind,
            at=self._clock.now(),
            org_id=share.org_id,
            owner=share.owner,
            actor=actor,
            reason=None,
            payload={"sandbox_id": share.sandbox_id, "share_id": share.id, **told},
        )
