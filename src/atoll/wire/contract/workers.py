"""Workers: requests to an agent with one receipt each, and the numbered spool of its events.

Params, results and events are the vendor's JSON; only what was redacted differs.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from atoll.wire.contract.call import (
    PathId,
    RequestBody,
    RuntimeCall,
    bytes_call,
    done_call,
    json_call,
)

EntryKind = Literal["event", "response", "error"]
ReceiptKind = Literal["response", "error"]
RequestErrorCode = Literal[
    "forbidden",
    "invalid_request",
    "unsupported_method",
    "conflict",
    "worker_unavailable",
    "timeout",
    "internal_error",
    "outcome_unknown",
]


_RESPOND: Final = "serverRequest/respond"


class OpenWorkerBody(RequestBody):
    """The body of `POST /workers`."""

    worker_id: str
    agent_id: str


class WorkerRequestBody(RequestBody):
    """The body of `POST /workers/{id}/requests`. `traceparent` goes to the agent with the request,
    where the agent takes one; a malformed one counts as absent."""

    request_id: str
    method: str
    params: dict[str, object] = msgspec.field(default_factory=dict)
    wait_ms: int = 0
    traceparent: str = ""


class AcknowledgeBody(RequestBody):
    """The body of `POST /workers/{id}/spool/ack`."""

    n: int


class WorkerRecord(msgspec.Struct, frozen=True):
    """A worker. `agent_id` is empty where no agent serves it; `last` is the number of its newest
    entry. `full` says that its agent is not read until entries are acknowledged."""

    worker_id: str
    agent_id: str
    last: int
    acknowledged: int
    pending: int
    full: bool


class RequestError(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request failed; `agent` is the error as the agent gave it. The outcome of a request is
    unknown when the agent or its runtime ended meanwhile: it is never sent again by itself."""

    code: RequestErrorCode
    message: str
    retryable: bool
    agent: dict[str, object] | None = None


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """The one answer to a request, entry `n` of the spool. `data` is the result, or a
    `RequestError`."""

    request_id: str
    kind: ReceiptKind
    n: int
    data: msgspec.Raw


class RequestAnswer(msgspec.Struct, frozen=True):
    """The standing of a request: its receipt, or none while it is pending."""

    receipt: Receipt | None = None


class SpoolEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry; `at` is RFC 3339 UTC. A receipt has its `request_id`."""

    n: int
    at: str
    kind: EntryKind
    data: msgspec.Raw
    request_id: str = ""


class SpoolPage(msgspec.Struct, frozen=True):
    """Entries after the requested number, without gaps."""

    entries: list[SpoolEntry]
    last: int
    acknowledged: int
    full: bool


class LiveBatch(msgspec.Struct, frozen=True):
    """Deltas, each a line as the agent wrote it but for what was redacted, which came after entry
    `after` of the spool and before the next one."""

    after: int
    lines: list[msgspec.Raw]


def request_body(
    request_id: str,
    method: str,
    params: Mapping[str, object],
    *,
    wait_ms: int = 0,
    traceparent: str = "",
) -> WorkerRequestBody:
    """Return the body of a request as clients write it: an answer names a question by our id."""
    told = dict(params)
    if method == _RESPOND:
        told["requestId"] = told.pop("server_request_id", None)
    return WorkerRequestBody(
        request_id=request_id,
        method=method,
        params=told,
        wait_ms=wait_ms,
        traceparent=traceparent,
    )


def open_worker(body: OpenWorkerBody) -> RuntimeCall[WorkerRecord]:
    """Open a worker on a running agent, or attach it to another one."""
    return json_call("POST", "/workers", WorkerRecord, body=body)


def get_worker(worker_id: PathId) -> RuntimeCall[WorkerRecord]:
    """Return one worker."""
    return json_call("GET", f"/workers/{worker_id}", WorkerRecord)


def request_worker(worker_id: PathId, body: WorkerRequestBody) -> RuntimeCall[RequestAnswer]:
    """Send a request once, whatever is repeated, and wait for its receipt."""
    return json_call("POST", f"/workers/{worker_id}/requests", RequestAnswer, body=body)


def read_spool(
    worker_id: PathId, *, after: int, limit: int, wait_seconds: int = 0
) -> RuntimeCall[SpoolPage]:
    """Read entries above `after`; with `wait_seconds`, wait that long for the first."""
    waiting = (("wait", str(wait_seconds)),) if wait_seconds else ()
    query = (("after", str(after)), ("limit", str(limit)), *waiting)
    return json_call("GET", f"/workers/{worker_id}/spool", SpoolPage, query=query)


def acknowledge_spool(worker_id: PathId, n: int) -> RuntimeCall[None]:
    """Free entries up to `n`."""
    return done_call("POST", f"/workers/{worker_id}/spool/ack", body=AcknowledgeBody(n=n))


def follow_deltas(worker_id: PathId) -> RuntimeCall[bytes]:
    """Follow the deltas of the agent from now on: a `LiveBatch` a line, and empty lines while it
    says nothing. Read it as a stream."""
    return bytes_call(f"/workers/{worker_id}/live")
