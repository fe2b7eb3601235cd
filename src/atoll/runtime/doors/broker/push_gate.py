"""A gate that holds a git push until its list of refs was read and allowed.

No byte of a push goes out before the list is complete. A refused push is read to its end, so
that git can report the reason for each ref. Its branches can then be held inside instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.domain.broker.passage import Refusal
from atoll.domain.repository.git_remote import BrokerRemote, holdable, judge_update
from atoll.wire.git.receive_pack import (
    NOTHING_HELD,
    BadPush,
    CommandReader,
    Commands,
    HeldRefs,
    Update,
    refusal,
)

MAX_HELD_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class RefusedPush:
    """A push to the remote at `path` that may not go out. Without `commands`, its list was never
    complete."""

    path: str
    commands: Commands | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def holdable(self) -> tuple[Update, ...]:
        """Refused updates that may be held. A push that is all or nothing is held as a whole."""
        if self.commands is None:
            return ()
        updates = self.commands.updates
        held = tuple(
            update
            for update in updates
            if update.ref in self.reasons and holdable(update.new, update.ref)
        )
        whole = len(held) == len(updates)
        atomic = "atomic" in self.commands.capabilities
        return () if (atomic and not whole) or len(held) > MAX_HELD_AT_ONCE else held

    def report(self, held: HeldRefs = NOTHING_HELD) -> bytes:
        """Return git's own report of what became of each ref."""
        return b"" if self.commands is None else refusal(self.commands, self.reasons, held)


class PushGate:
    """The gate of one request to `git-receive-pack`."""

    def __init__(self, remote: BrokerRemote) -> None:
        self._remote = remote
        self._reader = CommandReader()
        self._held: list[bytes] = []
        self._refused: RefusedPush | None = None

    def feed(self, data: bytes) -> bytes | Refusal:
        """Take a piece of the body. Returns the bytes that may go out now, or a refusal."""
        if self._refused is not None:
            return b""
        if self._reader.commands is not None:
            return data
        try:
            self._reader.feed(data)
        except BadPush as error:
            return Refusal(400, "bad_push", f"this push is not understood: {error}")
        self._held.append(data)
        commands = self._reader.commands
        if commands is None:
            return b""
        judged = (
            (update.ref, judge_update(self._remote, update.old, update.new, update.ref))
            for update in commands.updates
        )
        reasons = {ref: why for ref, why in judged if why is not None}
        if reasons:
            self._refused = RefusedPush(self._remote.target.path, commands, reasons)
            self._held = []
            return b""
        held, self._held = self._held, []
        return b"".join(held)

    def finish(self) -> RefusedPush | None:
        """End the body. Returns the push when it was refused."""
        if self._refused is None and self._reader.commands is None:
            self._refused = RefusedPush(self._remote.target.path)
        return self._refused
