"""The place of a request in a trace, and what a runtime records of it.

`traceparent` follows W3C Trace Context (section 3.2). It comes from clients, so it is read
strictly: what is malformed counts as absent. A runtime that is given a sampled trace keeps a record
of what it did, which `GET /spans` takes out.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from atoll.wire.contract.call import RuntimeCall, json_call

TRACE_HEADER: Final = "traceparent"

REQUEST_ID: Final = "request_id"
TRACE_ID: Final = "trace_id"
TRACE_PARENT: Final = "traceparent"
"""The names by which the context of a request, and so the log, knows the three."""

_TRACE_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1

_TraceId = Annotated[str, msgspec.Meta(pattern=r"^(?!0+\Z)[0-9a-f]{32}\Z")]
_SpanId = Annotated[str, msgspec.Meta(pattern=r"^(?!0+\Z)[0-9a-f]{16}\Z")]
_SpanName = Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{1,16} /[\x21-\x7e]{0,100}\Z")]
_Microseconds = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


@dataclass(frozen=True, slots=True)
class TraceParent:
    """The span that a request belongs to. `sampled`: its trace is recorded."""

    trace_id: str
    span_id: str
    sampled: bool = True

    def __str__(self) -> str:
        """Return the header's value."""
        return f"00-{self.trace_id}-{self.span_id}-{int(self.sampled):02x}"


class SpanRecord(msgspec.Struct, frozen=True):
    """A request that a runtime served: `GET /path/{parameter}`, Unix times in microseconds, and the
    status of the answer."""

    name: _SpanName
    trace_id: _TraceId
    span_id: _SpanId
    parent_id: _SpanId
    start_us: _Microseconds
    end_us: _Microseconds
    status: Annotated[int, msgspec.Meta(ge=0, le=999)]
    request_id: Annotated[str, msgspec.Meta(max_length=128)] = ""


class SpanList(msgspec.Struct, frozen=True):
    """The answer of `GET /spans`: each is handed out once. `dropped` counts those that were not
    taken in time."""

    spans: Annotated[tuple[SpanRecord, ...], msgspec.Meta(max_length=1024)]
    dropped: int = 0


def read_trace_parent(text: str) -> TraceParent | None:
    """Return the parent that a header names; None when it is malformed.

    A later version of the format may add fields, which are ignored.
    """
    found = _TRACE_PARENT.fullmatch(text)
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more is not None):
        return None
    if not (trace_id.strip("0") and span_id.strip("0")):
        return None
    return TraceParent(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))


def take_spans() -> RuntimeCall[SpanList]:
    """Take out what the runtime recorded for traces."""
    return json_call("GET", "/spans", SpanList)
