"""Deltas: pieces of text that an agent says, live only, between the events of its stream.

A delta is never stored, and the completed item replaces it. Each batch has the number of the last
entry of the host's spool that came before it. That places it among the events, which take longer.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from atoll.domain.event import Json
from atoll.domain.workers.record import WorkerEvent
from atoll.wire.http.unreadable import UNREADABLE

DELTA: Final = "worker.delta"
"""The name of a delta's frame. It is no kind of event."""

MOST_ITEMS: Final = 512
"""The completed items that a follower remembers."""


@dataclass(frozen=True, slots=True)
class WorkerDelta:
    """A piece of text. `params` is the agent's own JSON, but for what was redacted."""

    worker_id: str
    method: str
    params: str
    thread_id: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DeltaBatch:
    """Deltas after entry `after` of the spool and before the next one, each with the id of its
    item, empty where it names none."""

    after: int
    deltas: tuple[tuple[str, WorkerDelta], ...]

    @property
    def size(self) -> int:
        """The characters of its params."""
        return sum(len(one.params) for _, one in self.deltas)


class _Item(msgspec.Struct):
    id: str = ""


class _Params(msgspec.Struct):
    """The params of a delta, or of a completed item."""

    threadId: str | None = None
    itemId: str = ""
    item: _Item = msgspec.field(default_factory=_Item)


class _Line(msgspec.Struct):
    method: str
    params: msgspec.Raw = msgspec.Raw(b"null")


def read_batch(worker_id: str, after: int, lines: Sequence[bytes]) -> DeltaBatch:
    """Return the deltas of an agent's lines. A line that is no message is left out."""
    deltas = (_delta(worker_id, line) for line in lines)
    return DeltaBatch(after, tuple(one for one in deltas if one is not None))


class DeltaOrder:
    """The place of a follower: deltas come after the events before them, and never after their
    completed item."""

    def __init__(self) -> None:
        self._at: int | None = None
        self._done: OrderedDict[str, None] = OrderedDict()

    @property
    def place(self) -> int:
        """The number of the last entry whose events the follower has; -1 before the first look."""
        return -1 if self._at is None else self._at

    def note_events(self, events: Sequence[WorkerEvent], collected: int | None) -> None:
        """Note events that the follower has now, and that these are all up to entry `collected`;
        None where more follow."""
        for one in events:
            item = _completed_item(one.payload)
            if item:
                self._done[item] = None
        while len(self._done) > MOST_ITEMS:
            self._done.popitem(last=False)
        if collected is not None:
            self._at = collected

    def admit(self, batch: DeltaBatch) -> tuple[WorkerDelta, ...]:
        """Return the deltas of a batch that may still be shown."""
        if batch.after == self._at:
            return tuple(one for _, one in batch.deltas)
        return tuple(one for item, one in batch.deltas if item not in self._done)


def _delta(worker_id: str, line: bytes) -> tuple[str, WorkerDelta] | None:
    try:
        message = msgspec.json.decode(line, type=_Line)
        params = bytes(message.params).decode()
    except UNREADABLE:
        return None
    subject = _params(params)
    return subject.itemId, WorkerDelta(worker_id, message.method, params, subject.threadId)


def _completed_item(payload: Mapping[str, Json]) -> str:
    """Return the id of the item that an event completes; empty for any other event."""
    params = payload.get("params")
    if payload.get("method") != "item/completed" or not isinstance(params, str):
        return ""
    return _params(params).item.id


def _params(text: str) -> _Params:
    try:
        return msgspec.json.decode(text, type=_Params)
    except UNREADABLE:
        return _Params()
