"""The ledger of requests: exactly one receipt for each (`worker_id`, `request_id`).

These are the rules of one entry; whoever keeps the entries stores one before its request is sent.
A request whose runtime died ends as `outcome_unknown`, and is never sent again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from atoll.domain.errors import Conflict
from atoll.domain.event import Json
from atoll.wire.words.workers import ErrorCode


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """A request to the agent of a worker. `trace` is its place in a trace (W3C `traceparent`),
    which is no part of its content."""

    request_id: str
    method: str
    params: Mapping[str, Json]
    trace: str = ""

    @property
    def digest(self) -> str:
        """The SHA-256 of its content, whatever the order of keys, in hexadecimal."""
        content = json.dumps([self.method, self.params], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Response:
    """A receipt with the agent's result, as opaque JSON."""

    result: str


@dataclass(frozen=True, slots=True)
class RequestRefusal:
    """A receipt without a result. `data` is the agent's own error, as opaque JSON."""

    code: ErrorCode
    message: str
    data: str | None = None

    @property
    def retryable(self) -> bool:
        """Report whether the request may be made again."""
        return self.code.retryable


Receipt: TypeAlias = Response | RequestRefusal


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An entry of the ledger. Without a receipt the request is still open. `method` is that of the
    request, empty where it is not known."""

    digest: str
    receipt: Receipt | None = None
    method: str = ""


def admit(entry: LedgerEntry | None, request: WorkerRequest) -> LedgerEntry:
    """Return the entry of a request; only one that had none (`entry` is None) is sent.

    Raises `Conflict` where the id stands for other content.
    """
    if entry is None:
        return LedgerEntry(request.digest, method=request.method)
    if entry.digest != request.digest:
        raise Conflict(
            f"Request {request.request_id} was made with other content: take a new request_id."
        )
    return entry


def settle(entry: LedgerEntry, receipt: Receipt) -> LedgerEntry:
    """Return the entry with its receipt; the first one stands."""
    return entry if entry.receipt is not None else replace(entry, receipt=receipt)


LOST: Final = RequestRefusal(
    ErrorCode.OUTCOME_UNKNOWN,
    "The runtime ended before the agent answered: look at the thread before asking again.",
)
"""The receipt of a request whose runtime died."""
