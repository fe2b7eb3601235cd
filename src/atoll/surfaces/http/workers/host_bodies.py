"""Bodies of dialled hosts: what they deliver for a worker, and the wall that a desktop reports."""

from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
from pydantic import Field, StrictBool, StrictInt

from atoll.domain.errors import Invalid
from atoll.domain.wall.isolation import Isolation
from atoll.domain.worker.desktop import LONGEST_NOTE, MOST_NOTES
from atoll.domain.worker.heartbeat import HeartbeatState
from atoll.domain.worker.ledger import ErrorCode, Receipt, RequestRefusal, Response
from atoll.ports.outside.worker_host import HostDeltas, HostEntry
from atoll.services.workers.intake import HostBatch
from atoll.surfaces.http.body.fields import Body, Word
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.walls import IsolationLevel

MAX_ITEMS: Final = 500
MAX_BATCH_BYTES: Final = 16 * 1024 * 1024
"""A line of an agent has at most 4 MiB, and its JSON is text here."""
MAX_BATCH_VALUES: Final = 50_000
"""The values of a batch, those in the texts of its lines not counted."""
MAX_NUMBER: Final = 2**53
MAX_DELTAS: Final = 100
MAX_PIECES: Final = 1000
MAX_DELTA: Final = 64 * 1024
"""The characters of one piece of text, with its params; a longer one is not shown live."""

_NOBODY = datetime.fromtimestamp(0, UTC)
"""The moment of an item before it was taken."""

Opaque = Annotated[str, Field(max_length=MAX_BATCH_BYTES, strict=True)]
HostRequestName = Annotated[str, Field(pattern=r"^([!-~]{1,128}|host [a-z]{1,20})$", strict=True)]
ErrorText = Annotated[str, Field(max_length=8192, strict=True)]


class AgentEventItem(Body):
    """A message of the agent; `params` are its own JSON, as text."""

    method: Annotated[str, Field(pattern=r"^[!-~]{1,128}$", strict=True)]
    params: Opaque = "null"
    thread_id: Word | None = None
    server_request_id: Annotated[str, Field(pattern=r"^[!-~]{1,128}$", strict=True)] | None = None


class ResponseItem(Body):
    """The agent's answer to a request, as JSON text."""

    request_id: HostRequestName
    result: Opaque


class ErrorItem(Body):
    """The reason why a request has no result. `data` is the agent's own error, as JSON text."""

    request_id: HostRequestName
    code: ErrorCode
    message: ErrorText
    retryable: StrictBool | None = None
    data: Opaque | None = None


class HeartbeatItem(Body):
    """A heartbeat, numbered like every item."""

    heartbeat_state: HeartbeatState | None = None
    heartbeat_age_ms: Annotated[StrictInt, Field(ge=0, le=MAX_NUMBER)] | None = None


class HostItem(Body):
    """An item of a batch: exactly one of these."""

    event: AgentEventItem | None = None
    response: ResponseItem | None = None
    error: ErrorItem | None = None
    heartbeat: HeartbeatItem | None = None

    def to_entry(self, place: int) -> HostEntry:
        """Return the entry, not numbered yet. Raises `Invalid`."""
        given = [one for one in (self.event, self.response, self.error, self.heartbeat) if one]
        if len(given) != 1:
            raise Invalid(
                "an item is one of event, response, error and heartbeat", field=f"items.{place}"
            )
        match given[0]:
            case AgentEventItem() as said:
                return HostEntry(0, _NOBODY, line=_line(said, place))
            case ResponseItem(request_id=name, result=result):
                _check_json(result, f"items.{place}.response.result")
                return _receipt(name, Response(result))
            case ErrorItem(request_id=name, code=code, message=message, data=data):
                if data is not None:
                    _check_json(data, f"items.{place}.error.data")
                return _receipt(name, RequestRefusal(code, message, data))
            case HeartbeatItem():
                return HostEntry(0, _NOBODY)


class DeltaItem(Body):
    """A piece of text that the agent says; `params` are its own JSON, as text."""

    method: Annotated[str, Field(pattern=r"^[!-~]{1,128}$", strict=True)]
    params: Annotated[str, Field(max_length=MAX_DELTA, strict=True)] = "null"


class DeltasBody(Body):
    """Pieces of text after item `after` and before the next one; 0 is before the first."""

    after: Annotated[StrictInt, Field(ge=0, le=MAX_NUMBER)]
    pieces: Annotated[tuple[DeltaItem, ...], Field(max_length=MAX_PIECES)]

    def to_deltas(self, place: int) -> HostDeltas:
        """Return the pieces as the agent's lines. Raises `Invalid`."""
        return HostDeltas(
            self.after,
            tuple(
                _message(one.method, one.params, f"deltas.{place}.pieces.{number}.params").encode()
                for number, one in enumerate(self.pieces)
            ),
        )


class HostBatchBody(Body):
    """Items of a host, numbered from `first` in this epoch. Without items it is a heartbeat.
    `deltas` are shown to who follows now, and kept by nobody."""

    epoch: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
    first: Annotated[StrictInt, Field(ge=1, le=MAX_NUMBER)]
    items: Annotated[tuple[HostItem, ...], Field(max_length=MAX_ITEMS)] = ()
    deltas: Annotated[tuple[DeltasBody, ...], Field(max_length=MAX_DELTAS)] = ()

    def to_domain(self) -> HostBatch:
        """Return the batch. Raises `Invalid`."""
        entries = [one.to_entry(place) for place, one in enumerate(self.items)]
        deltas = [one.to_deltas(place) for place, one in enumerate(self.deltas)]
        return HostBatch(self.epoch, self.first, entries, deltas)


class WallBody(Body):
    """The wall of a desktop's workers: `degraded` says what it lacks."""

    level: IsolationLevel
    mechanism: Word
    degraded: Annotated[
        tuple[Annotated[str, Field(max_length=LONGEST_NOTE, strict=True)], ...],
        Field(max_length=MOST_NOTES),
    ] = ()


class PresenceBody(Body):
    """The presence of a desktop, whose lane runs with this wall."""

    isolation: WallBody

    def to_domain(self) -> Isolation:
        """Return the wall."""
        wall = self.isolation
        return Isolation(wall.level, wall.mechanism, wall.degraded)


def _receipt(request_id: str, receipt: Receipt) -> HostEntry:
    return HostEntry(0, _NOBODY, request_id=request_id, receipt=receipt)


def _line(said: AgentEventItem, place: int) -> str:
    """Return the agent's message as it would be in its pipe, its params byte for byte."""
    asked = ""
    if said.server_request_id is not None:
        asked = f',"id":{msgspec.json.encode(said.server_request_id).decode()}'
    return _message(said.method, said.params, f"items.{place}.event.params", asked)


def _message(method: str, params: str, field: str, more: str = "") -> str:
    _check_json(params, field)
    return f'{{"method":{msgspec.json.encode(method).decode()},"params":{params}{more}}}'


def _check_json(text: str, field: str) -> None:
    try:
        msgspec.json.decode(text.encode(), type=msgspec.Raw)
    except UNREADABLE as err:
        raise Invalid("it is no JSON", field=field) from err
