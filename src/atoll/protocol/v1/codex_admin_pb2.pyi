import datetime

from atoll.protocol.v1 import codex_sandbox_pb2 as _codex_sandbox_pb2
from atoll.protocol.v1 import codex_workers_pb2 as _codex_workers_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BackendBreaker(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[BackendBreaker.Value]
        closed: _ClassVar[BackendBreaker.Value]
        open: _ClassVar[BackendBreaker.Value]
        half_open: _ClassVar[BackendBreaker.Value]
    unspecified: BackendBreaker.Value
    closed: BackendBreaker.Value
    open: BackendBreaker.Value
    half_open: BackendBreaker.Value
    def __init__(self) -> None: ...

class BackendHealth(_message.Message):
    __slots__ = ("placement", "attempts", "success", "p50_ms", "p95_ms", "breaker", "workers", "lost")
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    P50_MS_FIELD_NUMBER: _ClassVar[int]
    P95_MS_FIELD_NUMBER: _ClassVar[int]
    BREAKER_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    placement: _codex_sandbox_pb2.Placement
    attempts: int
    success: float
    p50_ms: int
    p95_ms: int
    breaker: BackendBreaker.Value
    workers: int
    lost: int
    def __init__(self, placement: _Optional[_Union[_codex_sandbox_pb2.Placement, _Mapping]] = ..., attempts: _Optional[int] = ..., success: _Optional[float] = ..., p50_ms: _Optional[int] = ..., p95_ms: _Optional[int] = ..., breaker: _Optional[_Union[BackendBreaker.Value, str]] = ..., workers: _Optional[int] = ..., lost: _Optional[int] = ...) -> None: ...

class ListBackendHealthResponse(_message.Message):
    __slots__ = ("backends",)
    BACKENDS_FIELD_NUMBER: _ClassVar[int]
    backends: _containers.RepeatedCompositeFieldContainer[BackendHealth]
    def __init__(self, backends: _Optional[_Iterable[_Union[BackendHealth, _Mapping]]] = ...) -> None: ...

class RoutingReason(_message.Message):
    __slots__ = ("worker_id", "reason", "decision")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    reason: str
    decision: _codex_sandbox_pb2.RouteDecision
    def __init__(self, worker_id: _Optional[str] = ..., reason: _Optional[str] = ..., decision: _Optional[_Union[_codex_sandbox_pb2.RouteDecision, _Mapping]] = ...) -> None: ...

class TeardownState(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[TeardownState.Value]
        retained: _ClassVar[TeardownState.Value]
        removing: _ClassVar[TeardownState.Value]
        removed: _ClassVar[TeardownState.Value]
        leftovers: _ClassVar[TeardownState.Value]
    unspecified: TeardownState.Value
    retained: TeardownState.Value
    removing: TeardownState.Value
    removed: TeardownState.Value
    leftovers: TeardownState.Value
    def __init__(self) -> None: ...

class WorkerTeardown(_message.Message):
    __slots__ = ("worker_id", "policy", "state", "removed", "leftovers", "due_at")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    LEFTOVERS_FIELD_NUMBER: _ClassVar[int]
    DUE_AT_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    policy: _codex_workers_pb2.TeardownPolicy.Value
    state: TeardownState.Value
    removed: _containers.RepeatedScalarFieldContainer[str]
    leftovers: _containers.RepeatedScalarFieldContainer[str]
    due_at: _timestamp_pb2.Timestamp
    def __init__(self, worker_id: _Optional[str] = ..., policy: _Optional[_Union[_codex_workers_pb2.TeardownPolicy.Value, str]] = ..., state: _Optional[_Union[TeardownState.Value, str]] = ..., removed: _Optional[_Iterable[str]] = ..., leftovers: _Optional[_Iterable[str]] = ..., due_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SummaryStatus(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[SummaryStatus.Value]
        in_sync: _ClassVar[SummaryStatus.Value]
        lagging: _ClassVar[SummaryStatus.Value]
    unspecified: SummaryStatus.Value
    in_sync: SummaryStatus.Value
    lagging: SummaryStatus.Value
    def __init__(self) -> None: ...

class WorkerSummary(_message.Message):
    __slots__ = ("worker_id", "status", "lag_events", "last_seq")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LAG_EVENTS_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    status: SummaryStatus.Value
    lag_events: int
    last_seq: int
    def __init__(self, worker_id: _Optional[str] = ..., status: _Optional[_Union[SummaryStatus.Value, str]] = ..., lag_events: _Optional[int] = ..., last_seq: _Optional[int] = ...) -> None: ...

class ListWorkerSummariesResponse(_message.Message):
    __slots__ = ("worker_summaries", "next")
    WORKER_SUMMARIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    worker_summaries: _containers.RepeatedCompositeFieldContainer[WorkerSummary]
    next: str
    def __init__(self, worker_summaries: _Optional[_Iterable[_Union[WorkerSummary, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...
