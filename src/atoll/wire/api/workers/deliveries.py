"""Deliveries of dialled hosts: what the agent of a worker said, and the answers to its requests."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import Word
from atoll.wire.api.operation import Answer, Request
from atoll.wire.words.workers import (
    MAX_BATCH_BYTES,
    MAX_DELTA,
    MAX_DELTAS,
    MAX_ITEMS,
    MAX_NUMBER,
    MAX_PIECES,
    ErrorCode,
    HeartbeatState,
)

Opaque = Annotated[str, Meta(max_length=MAX_BATCH_BYTES)]
HostRequestName = Annotated[str, Meta(pattern=r"^([!-~]{1,128}|host [a-z]{1,20})\Z")]
ErrorText = Annotated[str, Meta(max_length=8192)]
LineName = Annotated[str, Meta(pattern=r"^[!-~]{1,128}\Z")]


class AgentEventItem(Request):
    """A message of the agent; `params` are its own JSON, as text."""

    method: LineName
    params: Opaque = "null"
    thread_id: Word | None = None
    server_request_id: LineName | None = None


class ResponseItem(Request):
    """The agent's answer to a request, as JSON text."""

    request_id: HostRequestName
    result: Opaque


class ErrorItem(Request):
    """The reason why a request has no result. `data` is the agent's own error, as JSON text."""

    request_id: HostRequestName
    code: ErrorCode
    message: ErrorText
    retryable: bool | None = None
    data: Opaque | None = None


class HeartbeatItem(Request):
    """A heartbeat, numbered like every item."""

    heartbeat_state: HeartbeatState | None = None
    heartbeat_age_ms: Annotated[int, Meta(ge=0, le=MAX_NUMBER)] | None = None


class HostItem(Request):
    """An item of a batch: exactly one of these."""

    event: AgentEventItem | None = None
    response: ResponseItem | None = None
    error: ErrorItem | None = None
    heartbeat: HeartbeatItem | None = None


class DeltaItem(Request):
    """A piece of text that the agent says; `params` are its own JSON, as text."""

    method: LineName
    params: Annotated[str, Meta(max_length=MAX_DELTA)] = "null"


class DeltasBody(Request):
    """Pieces of text after item `after` and before the next one; 0 is before the first."""

    after: Annotated[int, Meta(ge=0, le=MAX_NUMBER)]
    pieces: Annotated[tuple[DeltaItem, ...], Meta(max_length=MAX_PIECES)]


class HostBatchBody(Request):
    """Items of a host, numbered from `first` in this epoch. Without items it is a heartbeat.
    `deltas` are shown to who follows now, and kept by nobody."""

    epoch: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    first: Annotated[int, Meta(ge=1, le=MAX_NUMBER)]
    items: Annotated[tuple[HostItem, ...], Meta(max_length=MAX_ITEMS)] = ()
    deltas: Annotated[tuple[DeltasBody, ...], Meta(max_length=MAX_DELTAS)] = ()


class IngestView(Answer):
    """The number that a host's next item has, and how many items were new."""

    expected: int
    taken: int
