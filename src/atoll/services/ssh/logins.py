"""Logins at the SSH gateway: who presents a key, to which sandbox, and what they may do there.

Nothing is kept of a login: the gateway says each time what its client presented, and each call is
judged anew. So whatever is revoked or lost in the meantime counts.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.domain.event import sandbox_stream
from atoll.domain.ids import PrincipalId, SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import CallOrigin, Principal, spell_actor
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.ssh.key import SshKey, fingerprint_of, read_public_key
from atoll.domain.wall.interior import HOME
from atoll.ports.extension import Reachability
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.ssh.certificates import SshCertificates
from atoll.services.ssh.keys import SshKeys
from atoll.services.terminals.reach import credentials, role_at
from atoll.services.terminals.terminals import Terminals
from atoll.wire.contract import ssh
from atoll.wire.contract.terminals import OpenBody
from atoll.wire.ssh.certificate import read_certificate
from atoll.wire.ssh.strings import Unreadable, read_strings
from atoll.wire.words.events import ActorKind
from atoll.wire.words.terminals import Role

MAX_COMMAND: Final = 128 * 1024
CERTIFICATE: Final = "-cert-v01@openssh.com"
"""The end of the names of kinds of certificates."""

_RIGHTS: Final[tuple[tuple[ssh.Right, Capability], ...]] = (
    ("attach", Capability.TERMINAL_WATCH),
    ("open", Capability.TERMINAL_USE),
    ("exec", Capability.EXEC_USE),
    ("forward", Capability.EXEC_USE),
    ("read", Capability.FILE_READ),
    ("write", Capability.FILE_WRITE),
)
_LOOKING: Final = frozenset({"attach", "read"})
"""The rights of a viewer."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A caller and the sandbox that they may enter, their role at its terminals, and the
    fingerprint of the key they came by; `key` is the one that they added, None for a
    certificate."""

    caller: Principal
    sandbox: Sandbox
    role: Role
    fingerprint: str
    key: SshKey | None = None


class SshLogins:
    """Use cases of the gateway, which alone may call them."""

    def __init__(
        self,
        ground: Ground,
        keys: SshKeys,
        certificates: SshCertificates,
        access: RuntimeAccess,
        terminals: Terminals,
    ) -> None:
        self._ground = ground
        self._keys = keys
        self._certificates = certificates
        self._access = access
        self._terminals = terminals

    async def standing(self, logins: Sequence[ssh.LoginClaim]) -> tuple[ssh.LoginGrant | None, ...]:
        """Return what each login may do by now; None for one that may not come in, whatever the
        cause."""
        return tuple([await self._admitted(each) for each in logins])

    async def way(self, presented: ssh.LoginClaim) -> ssh.Way:
        """Return the way into the sandbox, which is woken where it sleeps. Raises `Forbidden`, and
        what `RuntimeAccess.runtime` raises."""
        entry = await self._required(presented, "attach")
        guest = entry.caller.guest_access
        # A guest sees what its host sees, and wakes nothing.
        caller = (
            entry.caller
            if guest is None
            else Principal(guest.org_id, guest.owner, ActorKind.PERSON)
        )
        sandbox, reach = await self._access.reach(
            caller, entry.sandbox.id, wakes=entry.role is not Role.VIEWER and guest is None
        )
        if entry.key is not None:
            await self._keys.note_use(entry.key)
        return _way(entry, sandbox, reach)

    async def open_terminal(self, order: ssh.TerminalOrder) -> ssh.OpenedTerminal:
        """Open a terminal in the caller's name. Raises what `Terminals.open` raises."""
        entry = await self._required(order.presented, "open")
        if len(order.command) > MAX_COMMAND or "\0" in order.command:
            raise Invalid(f"a command line has at most {MAX_COMMAND} characters and no NUL")
        body = OpenBody(
            argv=["/bin/sh", "-c", order.command] if order.command else None,
            env=dict(order.env),
            cols=order.cols,
            rows=order.rows,
            name=f"ssh {order.command.split()[0]}"[:64] if order.command.split() else None,
        )
        opened = await self._terminals.open(entry.caller, entry.sandbox.id, body)
        return ssh.OpenedTerminal(terminal_id=opened.terminal_id)

    async def report(self, reports: Sequence[ssh.Report]) -> None:
        """Append what happened at the gateway to the log, for those who may see the sandbox."""
        streams = set()
        async with self._ground.store.begin() as rows:
            for report in reports:
                sandbox = await rows.sandboxes.get(SandboxId(report.sandbox_id))
                if sandbox is None:
                    continue
                who = Principal(sandbox.org_id, PrincipalId(report.principal), ActorKind.PERSON)
                payload = {"sandbox_id": sandbox.id, **report.fields}
                note = Note(sandbox_stream(sandbox.id), report.kind, payload)
                at, event_id = self._ground.clock.now(), self._ground.ids.event()
                draft = draft_of(note, who, at=at, event_id=event_id)
                await rows.events.append((replace(draft, owner=sandbox.owner),))
                streams.add(note.stream)
        self._ground.bus.announce(tuple(streams))

    async def _admitted(self, presented: ssh.LoginClaim) -> ssh.LoginGrant | None:
        entry = await self._find(presented)
        if entry is None:
            return None
        guest = entry.caller.guest_access
        return ssh.LoginGrant(
            principal=entry.caller.id,
            name=entry.caller.name or entry.caller.id,
            sandbox_id=entry.sandbox.id,
            sandbox=entry.sandbox.name,
            fingerprint=entry.fingerprint,
            role=entry.role,
            rights=_rights_of(entry),
            terminal="" if guest is None else guest.terminal_id or "",
        )

    async def _required(self, presented: ssh.LoginClaim, right: ssh.Right) -> _Entry:
        entry = await self._find(presented)
        if entry is None or right not in _rights_of(entry):
            raise Forbidden("your access to this sandbox has ended, or does not allow that")
        return entry

    async def _find(self, presented: ssh.LoginClaim) -> _Entry | None:
        """Return who presents a key or certificate, and the sandbox that they may enter by it."""
        try:
            blob = base64.b64decode(presented.credential, validate=True)
            length = 4 + int.from_bytes(blob[:4], "big")
            kind = read_strings(blob[:length])[0].decode("ascii")
        except (ValueError, IndexError):
            return None
        origin = CallOrigin(address=presented.peer)
        by_certificate = kind.endswith(CERTIFICATE)
        find = self._by_certificate if by_certificate else self._by_key
        entry = await find(blob, kind, presented.sandbox, origin)
        may_attach = entry is not None and "attach" in _rights_of(entry)
        return entry if may_attach else None

    async def _by_certificate(
        self, blob: bytes, kind: str, name: str, origin: CallOrigin
    ) -> _Entry | None:
        del kind
        try:
            certificate = read_certificate(blob).certificate
            sandbox_id = SandboxId(certificate.principals[0])
            certified = await self._certificates.judge(blob, sandbox_id)
        except (Unreadable, IndexError) as error:
            _log.info("ssh_certificate_refused", reason=str(error))
            return None
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(sandbox_id)
        if sandbox is None or name not in (sandbox.id, sandbox.name):
            return None
        caller = replace(certified.principal, origin=origin)
        return _Entry(caller, sandbox, certified.role, fingerprint_of(certificate.key))

    async def _by_key(self, blob: bytes, kind: str, name: str, origin: CallOrigin) -> _Entry | None:
        """Several people may hold one key: their own sandboxes come first, then those they
        share."""
        try:
            key = read_public_key(f"{kind} {base64.b64encode(blob).decode()}")
        except Invalid:
            return None
        seen = []
        for holder in await self._keys.of_key(key.fingerprint):
            caller = replace(holder.person, origin=origin)
            try:
                sandbox = await self._access.find(caller, name)
            except NotFound:
                continue
            role = role_at(caller, sandbox)
            seen.append(_Entry(caller, sandbox, role, key.fingerprint, holder.key))
        seen.sort(key=lambda each: each.sandbox.owner != each.caller.id)
        return seen[0] if seen else None


def _rights_of(entry: _Entry) -> tuple[ssh.Right, ...]:
    """Return what a login may do: as much as its caller, and a viewer looks on."""
    if entry.caller.guest_access is not None:
        return ("attach",)
    rights = tuple(right for right, needed in _RIGHTS if entry.caller.may(needed))
    return rights if entry.role is not Role.VIEWER else tuple(r for r in rights if r in _LOOKING)


def _way(entry: _Entry, sandbox: Sandbox, reach: Reachability) -> ssh.Way:
    return ssh.Way(
        address=reach.address,
        token=reach.token,
        generation=sandbox.generation,
        query=credentials(entry.caller, entry.role),
        actor=spell_actor(entry.caller),
        folders=tuple(f"{HOME}/{inside}" for _, inside in HOME_STATE),
    )
