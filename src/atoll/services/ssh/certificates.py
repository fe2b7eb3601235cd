"""SSH certificates: made for whoever may attach to a sandbox, and judged when one is presented.

A certificate names the right by which it was made. Whether that right stands is looked up at each
login and again and again afterwards, so it ends with the membership, the token or the share link.
"""

import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from atoll.domain.errors import Forbidden, NotFound
from atoll.domain.event import Json, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.people.share import principal_of
from atoll.domain.sandboxes.sandbox import Sandbox, check_not_gone, may_see
from atoll.domain.ssh.certificate import (
    CertificateRequest,
    CertificateRight,
    Issue,
    judge_certificate,
    lesser,
    user_certificate,
)
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.people.tokens import Tokens, is_bound, parent_of
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.ssh.authority import NONCE_BYTES, SshAuthority
from atoll.services.terminals.reach import OTHER_LINK, role_at
from atoll.wire.ssh.certificate import read_certificate
from atoll.wire.ssh.strings import Unreadable
from atoll.wire.words.terminals import Role


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """A new certificate, a line of OpenSSH, and what it gives until when."""

    line: str
    sandbox: Sandbox
    right: CertificateRight
    serial: int
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class CertifiedCaller:
    """The caller of a certificate as they are now, and the role that they have at the sandbox's
    terminals."""

    principal: Principal
    role: Role
    right: CertificateRight
    ends_at: datetime


class SshCertificates:
    """Use cases on certificates."""

    def __init__(
        self, ground: Ground, authority: SshAuthority, sandboxes: Sandboxes, tokens: Tokens
    ) -> None:
        self._ground = ground
        self._authority = authority
        self._sandboxes = sandboxes
        self._tokens = tokens

    async def issue(
        self, caller: Principal, ref: str, request: CertificateRequest
    ) -> IssuedCertificate:
        """Return a certificate of a key for one sandbox. It ends no later than the link or the
        token of the caller. Raises `NotFound`, `Forbidden`, and `Conflict` for a sandbox that is
        gone."""
        sandbox, role = await self._reach(caller, ref)
        check_not_gone(sandbox, "entered")
        right, now = _right_of(caller, role), self._ground.clock.now()
        ends_at = min((now + timedelta(seconds=request.seconds), *_ends_of(caller)))
        authority = await self._authority.user_authority()
        issue = Issue(
            authority.blob, secrets.token_bytes(NONCE_BYTES), secrets.randbits(63), now, ends_at
        )
        certificate = user_certificate(request.key, sandbox.id, right, issue)
        line = await self._authority.sign_user(certificate)
        payload: dict[str, Json] = {
            "sandbox_id": sandbox.id,
            "fingerprint": request.key.fingerprint,
            "role": role.value,
            "serial": str(issue.serial),
            "expires_at": ends_at.isoformat(),
        }
        note = Note(sandbox_stream(sandbox.id), "ssh.certified", payload)
        await self._append(note, caller, sandbox)
        return IssuedCertificate(line, sandbox, right, issue.serial, ends_at)

    async def judge(self, blob: bytes, sandbox_id: SandboxId) -> CertifiedCaller:
        """Return the caller of a certificate that somebody presented for a sandbox, whose key they
        proved to have. Raises `Unreadable` with the reason, for logs alone."""
        presented, now = read_certificate(blob), self._ground.clock.now()
        authority = await self._authority.user_authority()
        certificate = presented.certificate
        right = judge_certificate(
            certificate, authority=authority.blob, sandbox_id=sandbox_id, now=now
        )
        if not await self._authority.signed_user(presented):
            raise Unreadable("its signature is not ours")
        ends_at = datetime.fromtimestamp(certificate.valid_before, UTC)
        caller = await self.caller(right, sandbox_id, ends_at)
        if caller is None:
            raise Unreadable("the right by which it was made was revoked")
        return caller

    async def caller(
        self, right: CertificateRight, sandbox_id: SandboxId, ends_at: datetime
    ) -> CertifiedCaller | None:
        """Return whoever has a right at a sandbox now; None once it was revoked or the certificate
        ended. The store is asked each time."""
        if ends_at <= self._ground.clock.now():
            return None
        principal = await self._principal(right)
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(sandbox_id)
        role = None if sandbox is None or principal is None else role_of(principal, sandbox)
        if principal is None or role is None:
            return None
        return CertifiedCaller(principal, lesser(role, right.role), right, ends_at)

    async def _principal(self, right: CertificateRight) -> Principal | None:
        """Return the person, the token's caller or the guest of a right, as they are now."""
        if right.share_id is not None:
            async with self._ground.store.read() as rows:
                return await self._guest(rows, right)
        if right.token_id is None:
            return await self._tokens.owner(right.org_id, right.person)
        caller = await self._tokens.by_id(right.token_id)
        same = caller is not None and (caller.org_id, caller.id) == (right.org_id, right.person)
        return caller if same else None

    async def _guest(self, rows: Transaction, right: CertificateRight) -> Principal | None:
        share = None if right.share_id is None else await rows.shares.get(right.share_id)
        if share is None or share.expires_at <= self._ground.clock.now():
            return None
        for link, guests in await rows.shares.of(share.opens):
            for guest in guests:
                if (link.id, str(guest.id)) == (share.id, right.person):
                    return principal_of(guest, share)
        return None

    async def _reach(self, caller: Principal, ref: str) -> tuple[Sandbox, Role]:
        """Return a sandbox and the caller's role at it. Raises `NotFound`, `Forbidden`."""
        access = caller.guest_access
        if access is None:
            sandbox = await self._sandboxes.get(caller, ref)
        else:
            async with self._ground.store.read() as rows:
                row = await rows.sandboxes.get(SandboxId(ref)) if access.covers(ref) else None
            if row is None:
                raise NotFound(OTHER_LINK)
            sandbox = row
        role = role_of(caller, sandbox)
        if role is None:
            raise Forbidden(f"you may not attach to sandbox {sandbox.name}")
        return sandbox, role

    async def _append(self, note: Note, caller: Principal, sandbox: Sandbox) -> None:
        at, event_id = self._ground.clock.now(), self._ground.ids.event()
        draft = draft_of(note, caller, at=at, event_id=event_id)
        async with self._ground.store.begin() as rows:
            await rows.events.append((replace(draft, org_id=sandbox.org_id, owner=sandbox.owner),))
        self._ground.bus.announce((note.stream,))


def role_of(caller: Principal, sandbox: Sandbox) -> Role | None:
    """Return the role of a caller at the terminals of a sandbox; None for who may not attach. A
    dashboard that shows a terminal opens no sandbox."""
    access = caller.guest_access
    if access is not None:
        return access.role if access.covers(sandbox.id) else None
    if not (may_see(caller, sandbox) and caller.may(Capability.TERMINAL_WATCH)):
        return None
    return role_at(caller, sandbox)


def _right_of(caller: Principal, role: Role) -> CertificateRight:
    """Return the right by which a caller has a certificate. Raises `Forbidden` for a token whose
    end could not be seen, or that is bound to something."""
    access = caller.guest_access
    if access is not None:
        return CertificateRight(caller.org_id, caller.id, role, share_id=access.share_id)
    if caller.token is None:
        return CertificateRight(caller.org_id, caller.id, role)
    token_id = None if is_bound(caller) else parent_of(caller.token.origin)
    if token_id is None:
        raise Forbidden("this token makes no SSH certificate: use your login, or a token of yours")
    return CertificateRight(caller.org_id, caller.id, role, token_id=token_id)


def _ends_of(caller: Principal) -> list[datetime]:
    """Return when that ends by which the caller came."""
    ends = [] if caller.guest_access is None else [caller.guest_access.expires_at]
    return ends if caller.token is None else [*ends, caller.token.expires_at]
