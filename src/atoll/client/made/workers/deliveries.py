"""Deliveries of dialled hosts: what the agent of a worker said, and the answers to its requests.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Shape

ErrorCode = Literal[
    "forbidden",
    "invalid_request",
    "unsupported_method",
    "conflict",
    "worker_unavailable",
    "timeout",
    "internal_error",
    "outcome_unknown",
]

HeartbeatState = Literal["fresh", "stale", "missing", "stopped", "failed"]


class Ingest(Shape):
    """The number that a host's next item has, and how many items were new."""

    expected = fields.number()
    taken = fields.number()


class AgentEventItem(TypedDict, total=False):
    """A message of the agent; `params` are its own JSON, as text."""

    method: Required[str]
    params: str
    thread_id: str | None
    server_request_id: str | None


class ResponseItem(TypedDict, total=False):
    """The agent's answer to a request, as JSON text."""

    request_id: Required[str]
    result: Required[str]


class ErrorItem(TypedDict, total=False):
    """The reason why a request has no result. `data` is the agent's own error, as JSON text."""

    request_id: Required[str]
    code: Required[ErrorCode]
    message: Required[str]
    retryable: bool | None
    data: str | None


class HeartbeatItem(TypedDict, total=False):
    """A heartbeat, numbered like every item."""

    heartbeat_state: HeartbeatState | None
    heartbeat_age_ms: int | None


class HostItem(TypedDict, total=False):
    """An item of a batch: exactly one of these."""

    event: AgentEventItem | None
    response: ResponseItem | None
    error: ErrorItem | None
    heartbeat: HeartbeatItem | None


class DeltaItem(TypedDict, total=False):
    """A piece of text that the agent says; `params` are its own JSON, as text."""

    method: Required[str]
    params: str


class DeltasBody(TypedDict, total=False):
    """Pieces of text after item `after` and before the next one; 0 is before the first."""

    after: Required[int]
    pieces: Required[list[DeltaItem]]


class HostBatchBody(TypedDict, total=False):
    """Items of a host, numbered from `first` in this epoch. Without items it is a heartbeat.
    `deltas` are shown to who follows now, and kept by nobody."""

    epoch: Required[int]
    first: Required[int]
    items: list[HostItem]
    deltas: list[DeltasBody]
