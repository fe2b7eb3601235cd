"""A gate that holds a git push until its list of refs was read and allowed.

No byte of a push goes out before the list is complete. A refused push is read to its end, so
that git can report the reason for each ref.
"""

from atoll.domain.broker.passage import Refusal
from atoll.domain.repository.git_remote import BrokerRemote, judge_update
from atoll.wire.git.receive_pack import BadPush, CommandReader, refusal


class PushGate:
    """The gate of one request to `git-receive-pack`."""

    def __init__(self, remote: BrokerRemote) -> None:
        self._remote = remote
        self._reader = CommandReader()
        self._held: list[bytes] = []
        self._refused: bytes | None = None

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
            (one.ref, judge_update(self._remote, one.old, one.new, one.ref))
            for one in commands.updates
        )
        reasons = {ref: why for ref, why in judged if why is not None}
        if reasons:
            self._refused, self._held = refusal(commands, reasons), []
            return b""
        held, self._held = self._held, []
        return b"".join(held)

    def finish(self) -> bytes | None:
        """End the body. Returns git's own report when the push was refused."""
        if self._refused is None and self._reader.commands is None:
            self._refused = b""
        return self._refused
