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

class WorkerEvent(_message.Message):
    __slots__ = ("worker_id", "seq", "event_type", "event_version", "payload", "id", "stream", "at", "org_id", "actor", "reason", "position")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    EVENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    EVENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    ORG_ID_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    seq: int
    event_type: str
    event_version: int
    payload: WorkerEventPayload
    id: str
    stream: str
    at: _timestamp_pb2.Timestamp
    org_id: str
    actor: Actor
    reason: str
    position: float
    def __init__(self, worker_id: _Optional[str] = ..., seq: _Optional[int] = ..., event_type: _Optional[str] = ..., event_version: _Optional[int] = ..., payload: _Optional[_Union[WorkerEventPayload, _Mapping]] = ..., id: _Optional[str] = ..., stream: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., org_id: _Optional[str] = ..., actor: _Optional[_Union[Actor, _Mapping]] = ..., reason: _Optional[str] = ..., position: _Optional[float] = ...) -> None: ...

class Actor(_message.Message):
    __slots__ = ("kind", "id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    kind: str
    id: str
    def __init__(self, kind: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class WorkerEventPayload(_message.Message):
    __slots__ = ("started", "request_received", "response", "error", "event", "heartbeat", "lost", "recovered", "handed_over", "stopped", "torn_down")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_RECEIVED_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    RECOVERED_FIELD_NUMBER: _ClassVar[int]
    HANDED_OVER_FIELD_NUMBER: _ClassVar[int]
    STOPPED_FIELD_NUMBER: _ClassVar[int]
    TORN_DOWN_FIELD_NUMBER: _ClassVar[int]
    started: WorkerStarted
    request_received: WorkerRequestReceived
    response: WorkerResponseEvent
    error: WorkerErrorEvent
    event: WorkerAgentEvent
    heartbeat: WorkerHeartbeat
    lost: WorkerLost
    recovered: WorkerRecovered
    handed_over: WorkerHandedOver
    stopped: WorkerStopped
    torn_down: WorkerTornDown
    def __init__(self, started: _Optional[_Union[WorkerStarted, _Mapping]] = ..., request_received: _Optional[_Union[WorkerRequestReceived, _Mapping]] = ..., response: _Optional[_Union[WorkerResponseEvent, _Mapping]] = ..., error: _Optional[_Union[WorkerErrorEvent, _Mapping]] = ..., event: _Optional[_Union[WorkerAgentEvent, _Mapping]] = ..., heartbeat: _Optional[_Union[WorkerHeartbeat, _Mapping]] = ..., lost: _Optional[_Union[WorkerLost, _Mapping]] = ..., recovered: _Optional[_Union[WorkerRecovered, _Mapping]] = ..., handed_over: _Optional[_Union[WorkerHandedOver, _Mapping]] = ..., stopped: _Optional[_Union[WorkerStopped, _Mapping]] = ..., torn_down: _Optional[_Union[WorkerTornDown, _Mapping]] = ...) -> None: ...

class WorkerStarted(_message.Message):
    __slots__ = ("backend", "extension", "execution_mode", "agent", "agent_version", "reattached", "sandbox", "route", "epoch")
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    EXTENSION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_MODE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    AGENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    REATTACHED_FIELD_NUMBER: _ClassVar[int]
    SANDBOX_FIELD_NUMBER: _ClassVar[int]
    ROUTE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    backend: _codex_sandbox_pb2.Backend.Value
    extension: str
    execution_mode: _codex_sandbox_pb2.ExecutionMode.Value
    agent: str
    agent_version: str
    reattached: bool
    sandbox: _codex_sandbox_pb2.WorkerSandbox
    route: _codex_sandbox_pb2.RouteDecision
    epoch: int
    def __init__(self, backend: _Optional[_Union[_codex_sandbox_pb2.Backend.Value, str]] = ..., extension: _Optional[str] = ..., execution_mode: _Optional[_Union[_codex_sandbox_pb2.ExecutionMode.Value, str]] = ..., agent: _Optional[str] = ..., agent_version: _Optional[str] = ..., reattached: _Optional[bool] = ..., sandbox: _Optional[_Union[_codex_sandbox_pb2.WorkerSandbox, _Mapping]] = ..., route: _Optional[_Union[_codex_sandbox_pb2.RouteDecision, _Mapping]] = ..., epoch: _Optional[int] = ...) -> None: ...

class WorkerRequestReceived(_message.Message):
    __slots__ = ("request_id", "method", "params")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    method: str
    params: str
    def __init__(self, request_id: _Optional[str] = ..., method: _Optional[str] = ..., params: _Optional[str] = ...) -> None: ...

class WorkerResponseEvent(_message.Message):
    __slots__ = ("request_id", "result")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    result: str
    def __init__(self, request_id: _Optional[str] = ..., result: _Optional[str] = ...) -> None: ...

class WorkerErrorEvent(_message.Message):
    __slots__ = ("request_id", "code", "message", "retryable", "data")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    code: _codex_workers_pb2.WorkerErrorCode.Value
    message: str
    retryable: bool
    data: str
    def __init__(self, request_id: _Optional[str] = ..., code: _Optional[_Union[_codex_workers_pb2.WorkerErrorCode.Value, str]] = ..., message: _Optional[str] = ..., retryable: _Optional[bool] = ..., data: _Optional[str] = ...) -> None: ...

class WorkerAgentEvent(_message.Message):
    __slots__ = ("method", "params", "thread_id", "server_request_id")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    SERVER_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    method: str
    params: str
    thread_id: str
    server_request_id: str
    def __init__(self, method: _Optional[str] = ..., params: _Optional[str] = ..., thread_id: _Optional[str] = ..., server_request_id: _Optional[str] = ...) -> None: ...

class WorkerHeartbeat(_message.Message):
    __slots__ = ("heartbeat_state", "heartbeat_age_ms")
    HEARTBEAT_STATE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    heartbeat_state: _codex_workers_pb2.HeartbeatState.Value
    heartbeat_age_ms: int
    def __init__(self, heartbeat_state: _Optional[_Union[_codex_workers_pb2.HeartbeatState.Value, str]] = ..., heartbeat_age_ms: _Optional[int] = ...) -> None: ...

class WorkerLost(_message.Message):
    __slots__ = ("reason", "epoch", "request_ids")
    REASON_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REQUEST_IDS_FIELD_NUMBER: _ClassVar[int]
    reason: str
    epoch: int
    request_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, reason: _Optional[str] = ..., epoch: _Optional[int] = ..., request_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class WorkerRecovered(_message.Message):
    __slots__ = ("epoch", "delivered")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    DELIVERED_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    delivered: int
    def __init__(self, epoch: _Optional[int] = ..., delivered: _Optional[int] = ...) -> None: ...

class ConversationHolder(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[ConversationHolder.Value]
        machine: _ClassVar[ConversationHolder.Value]
        person: _ClassVar[ConversationHolder.Value]
    unspecified: ConversationHolder.Value
    machine: ConversationHolder.Value
    person: ConversationHolder.Value
    def __init__(self) -> None: ...

class WorkerHandedOver(_message.Message):
    __slots__ = ("holder", "thread_id", "terminal_id")
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_ID_FIELD_NUMBER: _ClassVar[int]
    holder: ConversationHolder.Value
    thread_id: str
    terminal_id: str
    def __init__(self, holder: _Optional[_Union[ConversationHolder.Value, str]] = ..., thread_id: _Optional[str] = ..., terminal_id: _Optional[str] = ...) -> None: ...

class WorkerStopped(_message.Message):
    __slots__ = ("status", "reason", "markers")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MARKERS_FIELD_NUMBER: _ClassVar[int]
    status: _codex_workers_pb2.WorkerStatus.Value
    reason: str
    markers: _codex_workers_pb2.DurabilityMarkers
    def __init__(self, status: _Optional[_Union[_codex_workers_pb2.WorkerStatus.Value, str]] = ..., reason: _Optional[str] = ..., markers: _Optional[_Union[_codex_workers_pb2.DurabilityMarkers, _Mapping]] = ...) -> None: ...

class WorkerTornDown(_message.Message):
    __slots__ = ("policy", "removed", "leftovers", "due_at")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    LEFTOVERS_FIELD_NUMBER: _ClassVar[int]
    DUE_AT_FIELD_NUMBER: _ClassVar[int]
    policy: _codex_workers_pb2.TeardownPolicy.Value
    removed: _containers.RepeatedScalarFieldContainer[str]
    leftovers: _containers.RepeatedScalarFieldContainer[str]
    due_at: _timestamp_pb2.Timestamp
    def __init__(self, policy: _Optional[_Union[_codex_workers_pb2.TeardownPolicy.Value, str]] = ..., removed: _Optional[_Iterable[str]] = ..., leftovers: _Optional[_Iterable[str]] = ..., due_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WorkerDelta(_message.Message):
    __slots__ = ("worker_id", "method", "params", "thread_id")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    method: str
    params: str
    thread_id: str
    def __init__(self, worker_id: _Optional[str] = ..., method: _Optional[str] = ..., params: _Optional[str] = ..., thread_id: _Optional[str] = ...) -> None: ...

class StaleCursor(_message.Message):
    __slots__ = ("code", "resume_after")
    CODE_FIELD_NUMBER: _ClassVar[int]
    RESUME_AFTER_FIELD_NUMBER: _ClassVar[int]
    code: str
    resume_after: int
    def __init__(self, code: _Optional[str] = ..., resume_after: _Optional[int] = ...) -> None: ...

class IngestRequest(_message.Message):
    __slots__ = ("epoch", "first", "items", "deltas")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    DELTAS_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    first: int
    items: _containers.RepeatedCompositeFieldContainer[IngestItem]
    deltas: _containers.RepeatedCompositeFieldContainer[IngestDeltas]
    def __init__(self, epoch: _Optional[int] = ..., first: _Optional[int] = ..., items: _Optional[_Iterable[_Union[IngestItem, _Mapping]]] = ..., deltas: _Optional[_Iterable[_Union[IngestDeltas, _Mapping]]] = ...) -> None: ...

class IngestDeltas(_message.Message):
    __slots__ = ("after", "pieces")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    after: int
    pieces: _containers.RepeatedCompositeFieldContainer[IngestDelta]
    def __init__(self, after: _Optional[int] = ..., pieces: _Optional[_Iterable[_Union[IngestDelta, _Mapping]]] = ...) -> None: ...

class IngestDelta(_message.Message):
    __slots__ = ("method", "params")
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    method: str
    params: str
    def __init__(self, method: _Optional[str] = ..., params: _Optional[str] = ...) -> None: ...

class IngestItem(_message.Message):
    __slots__ = ("event", "response", "error", "heartbeat")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_FIELD_NUMBER: _ClassVar[int]
    event: WorkerAgentEvent
    response: WorkerResponseEvent
    error: WorkerErrorEvent
    heartbeat: WorkerHeartbeat
    def __init__(self, event: _Optional[_Union[WorkerAgentEvent, _Mapping]] = ..., response: _Optional[_Union[WorkerResponseEvent, _Mapping]] = ..., error: _Optional[_Union[WorkerErrorEvent, _Mapping]] = ..., heartbeat: _Optional[_Union[WorkerHeartbeat, _Mapping]] = ...) -> None: ...

class IngestResponse(_message.Message):
    __slots__ = ("expected", "taken")
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    expected: int
    taken: int
    def __init__(self, expected: _Optional[int] = ..., taken: _Optional[int] = ...) -> None: ...

class WorkerLease(_message.Message):
    __slots__ = ("worker_id", "epoch", "expires_at")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    epoch: int
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, worker_id: _Optional[str] = ..., epoch: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class HostOffer(_message.Message):
    __slots__ = ("worker_id", "epoch", "number", "provision", "request", "stop", "remove", "hold", "give_back", "follow")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PROVISION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    REMOVE_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    GIVE_BACK_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    epoch: int
    number: int
    provision: _codex_workers_pb2.CreateWorkerRequest
    request: _codex_workers_pb2.WorkerRequest
    stop: _codex_workers_pb2.StopWorkerRequest
    remove: RemoveWorkerRequest
    hold: HoldWorkerRequest
    give_back: GiveBackWorkerRequest
    follow: FollowWorkerRequest
    def __init__(self, worker_id: _Optional[str] = ..., epoch: _Optional[int] = ..., number: _Optional[int] = ..., provision: _Optional[_Union[_codex_workers_pb2.CreateWorkerRequest, _Mapping]] = ..., request: _Optional[_Union[_codex_workers_pb2.WorkerRequest, _Mapping]] = ..., stop: _Optional[_Union[_codex_workers_pb2.StopWorkerRequest, _Mapping]] = ..., remove: _Optional[_Union[RemoveWorkerRequest, _Mapping]] = ..., hold: _Optional[_Union[HoldWorkerRequest, _Mapping]] = ..., give_back: _Optional[_Union[GiveBackWorkerRequest, _Mapping]] = ..., follow: _Optional[_Union[FollowWorkerRequest, _Mapping]] = ...) -> None: ...

class RemoveWorkerRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HoldWorkerRequest(_message.Message):
    __slots__ = ("thread_id",)
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    def __init__(self, thread_id: _Optional[str] = ...) -> None: ...

class GiveBackWorkerRequest(_message.Message):
    __slots__ = ("thread_id",)
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    def __init__(self, thread_id: _Optional[str] = ...) -> None: ...

class FollowWorkerRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
