"""Logins at the SSH gateway: who presents a key, to which sandbox, and what they may do there.

Nothing is kept of a login: the gateway says each time what its client presented, and each call is
judged anew. So whatever is revoked or lost in the meantime counts.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.errors import AtollError, Forbidden, Invalid, NotFound
from atoll.domain.event import sandbox_stream
from atoll.domain.ids import PrincipalId, SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import CallOrigin, Principal, spell_actor
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.ssh.key import SshKey, read_public_key
from atoll.domain.wall.interior import HOME
from atoll.ports.extension import Reachability
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.ssh.keys import SshKeys
from atoll.services.terminals.reach import credentials, role_of_member
from atoll.services.terminals.terminals import Terminals
from atoll.wire.contract import ssh
from atoll.wire.contract.terminals import OpenBody
from atoll.wire.words.events import ActorKind
from atoll.wire.words.walls import WORKSPACE

MAX_COMMAND: Final = 128 * 1024

_RIGHTS: Final[tuple[tuple[ssh.Right, Capability], ...]] = (
    ("attach", Capability.TERMINAL_WATCH),
    ("open", Capability.TERMINAL_USE),
    ("exec", Capability.EXEC_USE),
    ("forward", Capability.EXEC_USE),
    ("read", Capability.FILE_READ),
    ("write", Capability.FILE_WRITE),
)


@dataclass(frozen=True, slots=True)
class _Found:
    """A caller and the sandbox that they may enter; `key` is the one they came by."""

    caller: Principal
    sandbox: Sandbox
    key: SshKey


class SshLogins:
    """Use cases of the gateway, which alone may call them."""

    def __init__(
        self,
        ground: Ground,
        keys: SshKeys,
        sandboxes: Sandboxes,
        access: RuntimeAccess,
        terminals: Terminals,
    ) -> None:
        self._ground = ground
        self._keys = keys
        self._sandboxes = sandboxes
        self._access = access
        self._terminals = terminals

    async def standing(self, logins: Sequence[ssh.Presented]) -> tuple[ssh.Admitted | None, ...]:
        """Return what each login may do by now; None for one that may not come in, whatever the
        cause."""
        return tuple([await self._admitted(each) for each in logins])

    async def way(self, presented: ssh.Presented) -> ssh.Way:
        """Return the way into the sandbox, which is woken where it sleeps. Raises `Forbidden`, and
        what `RuntimeAccess.runtime` raises."""
        found = await self._required(presented)
        sandbox, reach = await self._access.reach(found.caller, found.sandbox.id)
        await self._keys.note_use(found.key)
        return _way(found.caller, sandbox, reach)

    async def open_terminal(self, order: ssh.TerminalOrder) -> ssh.OpenedTerminal:
        """Open a terminal in the caller's name. Raises what `Terminals.open` raises."""
        found = await self._required(order.presented)
        if len(order.command) > MAX_COMMAND or "\0" in order.command:
            raise Invalid(f"a command line has at most {MAX_COMMAND} characters and no NUL")
        body = OpenBody(
            argv=["/bin/sh", "-c", order.command] if order.command else None,
            env=dict(order.env),
            cols=order.cols,
            rows=order.rows,
            name=f"ssh {order.command.split()[0]}"[:64] if order.command.split() else None,
        )
        opened = await self._terminals.open(found.caller, found.sandbox.id, body)
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

    async def _admitted(self, presented: ssh.Presented) -> ssh.Admitted | None:
        found = await self._find(presented)
        if found is None:
            return None
        rights = tuple(right for right, needed in _RIGHTS if found.caller.may(needed))
        return ssh.Admitted(
            principal=found.caller.id,
            name=found.caller.name or found.caller.id,
            sandbox_id=found.sandbox.id,
            sandbox=found.sandbox.name,
            fingerprint=found.key.fingerprint,
            role=role_of_member(found.caller, found.sandbox),
            rights=rights,
        )

    async def _required(self, presented: ssh.Presented) -> _Found:
        found = await self._find(presented)
        if found is None:
            raise Forbidden("your access to this sandbox has ended")
        return found

    async def _find(self, presented: ssh.Presented) -> _Found | None:
        """Return the caller that a key stands for, and the sandbox of that name which they see.
        Several people may hold one key: their own sandboxes come first, then those they share."""
        line = _line_of(presented.credential)
        if line is None:
            return None
        seen = []
        for holder in await self._keys.of_key(read_public_key(line).fingerprint):
            caller = replace(holder.person, origin=CallOrigin(address=presented.peer))
            try:
                sandbox = await self._sandboxes.get(caller, presented.sandbox)
            except NotFound:
                continue
            seen.append(_Found(caller, sandbox, holder.key))
        seen.sort(key=lambda each: each.sandbox.owner != each.caller.id)
        return seen[0] if seen else None


def _way(caller: Principal, sandbox: Sandbox, reach: Reachability) -> ssh.Way:
    return ssh.Way(
        address=reach.address,
        token=reach.token,
        generation=sandbox.generation,
        query=credentials(caller, role_of_member(caller, sandbox)),
        actor=spell_actor(caller),
        folders=(WORKSPACE, *(f"{HOME}/{inside}" for _, inside in HOME_STATE)),
    )


def _line_of(credential: str) -> str | None:
    """Return a key in base64 as OpenSSH writes it; None for what is no key."""
    try:
        blob = base64.b64decode(credential, validate=True)
        length = int.from_bytes(blob[:4], "big")
        line = f"{blob[4 : 4 + length].decode('ascii')} {credential}"
        read_public_key(line)
    except (ValueError, AtollError):
        return None
    return line
