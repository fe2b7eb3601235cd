import datetime

from atoll.protocol.v1 import codex_sandbox_pb2 as _codex_sandbox_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WorkerStatus(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[WorkerStatus.Value]
        starting: _ClassVar[WorkerStatus.Value]
        running: _ClassVar[WorkerStatus.Value]
        stopping: _ClassVar[WorkerStatus.Value]
        stopped: _ClassVar[WorkerStatus.Value]
        failed: _ClassVar[WorkerStatus.Value]
    unspecified: WorkerStatus.Value
    starting: WorkerStatus.Value
    running: WorkerStatus.Value
    stopping: WorkerStatus.Value
    stopped: WorkerStatus.Value
    failed: WorkerStatus.Value
    def __init__(self) -> None: ...

class HeartbeatState(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[HeartbeatState.Value]
        fresh: _ClassVar[HeartbeatState.Value]
        stale: _ClassVar[HeartbeatState.Value]
        missing: _ClassVar[HeartbeatState.Value]
        stopped: _ClassVar[HeartbeatState.Value]
        failed: _ClassVar[HeartbeatState.Value]
    unspecified: HeartbeatState.Value
    fresh: HeartbeatState.Value
    stale: HeartbeatState.Value
    missing: HeartbeatState.Value
    stopped: HeartbeatState.Value
    failed: HeartbeatState.Value
    def __init__(self) -> None: ...

class Permissions(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[Permissions.Value]
        allow: _ClassVar[Permissions.Value]
        ask: _ClassVar[Permissions.Value]
    unspecified: Permissions.Value
    allow: Permissions.Value
    ask: Permissions.Value
    def __init__(self) -> None: ...

class TeardownPolicy(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[TeardownPolicy.Value]
        immediate: _ClassVar[TeardownPolicy.Value]
        retain: _ClassVar[TeardownPolicy.Value]
    unspecified: TeardownPolicy.Value
    immediate: TeardownPolicy.Value
    retain: TeardownPolicy.Value
    def __init__(self) -> None: ...

class Teardown(_message.Message):
    __slots__ = ("policy", "retain_for")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    RETAIN_FOR_FIELD_NUMBER: _ClassVar[int]
    policy: TeardownPolicy.Value
    retain_for: str
    def __init__(self, policy: _Optional[_Union[TeardownPolicy.Value, str]] = ..., retain_for: _Optional[str] = ...) -> None: ...

class WorkerRepository(_message.Message):
    __slots__ = ("repo_url", "key", "branch", "from_branch", "path", "sparse")
    REPO_URL_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    BRANCH_FIELD_NUMBER: _ClassVar[int]
    FROM_BRANCH_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    SPARSE_FIELD_NUMBER: _ClassVar[int]
    repo_url: str
    key: str
    branch: str
    from_branch: str
    path: str
    sparse: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, repo_url: _Optional[str] = ..., key: _Optional[str] = ..., branch: _Optional[str] = ..., from_branch: _Optional[str] = ..., path: _Optional[str] = ..., sparse: _Optional[_Iterable[str]] = ...) -> None: ...

class Selection(_message.Message):
    __slots__ = ("allow", "region", "max_ready_ms", "max_cost_per_hour", "min_success", "require_isolation", "strategy", "accept_open_network")
    ALLOW_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    MAX_READY_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_COST_PER_HOUR_FIELD_NUMBER: _ClassVar[int]
    MIN_SUCCESS_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_ISOLATION_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_OPEN_NETWORK_FIELD_NUMBER: _ClassVar[int]
    allow: _containers.RepeatedScalarFieldContainer[str]
    region: str
    max_ready_ms: int
    max_cost_per_hour: Cost
    min_success: float
    require_isolation: _codex_sandbox_pb2.IsolationLevel.Value
    strategy: str
    accept_open_network: bool
    def __init__(self, allow: _Optional[_Iterable[str]] = ..., region: _Optional[str] = ..., max_ready_ms: _Optional[int] = ..., max_cost_per_hour: _Optional[_Union[Cost, _Mapping]] = ..., min_success: _Optional[float] = ..., require_isolation: _Optional[_Union[_codex_sandbox_pb2.IsolationLevel.Value, str]] = ..., strategy: _Optional[str] = ..., accept_open_network: _Optional[bool] = ...) -> None: ...

class Cost(_message.Message):
    __slots__ = ("amount", "currency")
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    amount: str
    currency: str
    def __init__(self, amount: _Optional[str] = ..., currency: _Optional[str] = ...) -> None: ...

class CreateWorkerRequest(_message.Message):
    __slots__ = ("worker_id", "agent", "backend", "extension", "execution_mode", "profile", "repos", "workspace_ref", "codex_home_ref", "thread_id", "permissions", "teardown", "metadata", "selection")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    EXTENSION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_MODE_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    REPOS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_REF_FIELD_NUMBER: _ClassVar[int]
    CODEX_HOME_REF_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    TEARDOWN_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    agent: str
    backend: _codex_sandbox_pb2.Backend.Value
    extension: str
    execution_mode: _codex_sandbox_pb2.ExecutionMode.Value
    profile: str
    repos: _containers.RepeatedCompositeFieldContainer[WorkerRepository]
    workspace_ref: str
    codex_home_ref: str
    thread_id: str
    permissions: Permissions.Value
    teardown: Teardown
    metadata: _containers.ScalarMap[str, str]
    selection: Selection
    def __init__(self, worker_id: _Optional[str] = ..., agent: _Optional[str] = ..., backend: _Optional[_Union[_codex_sandbox_pb2.Backend.Value, str]] = ..., extension: _Optional[str] = ..., execution_mode: _Optional[_Union[_codex_sandbox_pb2.ExecutionMode.Value, str]] = ..., profile: _Optional[str] = ..., repos: _Optional[_Iterable[_Union[WorkerRepository, _Mapping]]] = ..., workspace_ref: _Optional[str] = ..., codex_home_ref: _Optional[str] = ..., thread_id: _Optional[str] = ..., permissions: _Optional[_Union[Permissions.Value, str]] = ..., teardown: _Optional[_Union[Teardown, _Mapping]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., selection: _Optional[_Union[Selection, _Mapping]] = ...) -> None: ...

class CreateWorkerResponse(_message.Message):
    __slots__ = ("reattached", "worker", "events_kept_for")
    REATTACHED_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    EVENTS_KEPT_FOR_FIELD_NUMBER: _ClassVar[int]
    reattached: bool
    worker: WorkerSnapshot
    events_kept_for: str
    def __init__(self, reattached: _Optional[bool] = ..., worker: _Optional[_Union[WorkerSnapshot, _Mapping]] = ..., events_kept_for: _Optional[str] = ...) -> None: ...

class ListWorkersResponse(_message.Message):
    __slots__ = ("workers", "next")
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    workers: _containers.RepeatedCompositeFieldContainer[WorkerSnapshot]
    next: str
    def __init__(self, workers: _Optional[_Iterable[_Union[WorkerSnapshot, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class WorkerSnapshot(_message.Message):
    __slots__ = ("worker_id", "agent", "backend", "extension", "execution_mode", "profile", "repos", "workspace_ref", "codex_home_ref", "thread_id", "permissions", "teardown", "metadata", "status", "reason", "latest_seq", "threads", "sandbox", "heartbeat_state", "heartbeat_age_ms", "heartbeat_stale_after_ms", "pending", "usage", "route", "artifacts", "held_by_person", "created_at", "remove_at", "torn_down")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    EXTENSION_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_MODE_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    REPOS_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_REF_FIELD_NUMBER: _ClassVar[int]
    CODEX_HOME_REF_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    PERMISSIONS_FIELD_NUMBER: _ClassVar[int]
    TEARDOWN_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LATEST_SEQ_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    SANDBOX_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_STATE_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_AGE_MS_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_STALE_AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    ROUTE_FIELD_NUMBER: _ClassVar[int]
    ARTIFACTS_FIELD_NUMBER: _ClassVar[int]
    HELD_BY_PERSON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    REMOVE_AT_FIELD_NUMBER: _ClassVar[int]
    TORN_DOWN_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    agent: str
    backend: _codex_sandbox_pb2.Backend.Value
    extension: str
    execution_mode: _codex_sandbox_pb2.ExecutionMode.Value
    profile: str
    repos: _containers.RepeatedCompositeFieldContainer[WorkerRepository]
    workspace_ref: str
    codex_home_ref: str
    thread_id: str
    permissions: Permissions.Value
    teardown: Teardown
    metadata: _containers.ScalarMap[str, str]
    status: WorkerStatus.Value
    reason: str
    latest_seq: int
    threads: _containers.RepeatedCompositeFieldContainer[WorkerThread]
    sandbox: _codex_sandbox_pb2.WorkerSandbox
    heartbeat_state: HeartbeatState.Value
    heartbeat_age_ms: int
    heartbeat_stale_after_ms: int
    pending: WorkerPending
    usage: WorkerUsage
    route: _codex_sandbox_pb2.RouteDecision
    artifacts: _containers.RepeatedCompositeFieldContainer[WorkerArtifact]
    held_by_person: bool
    created_at: _timestamp_pb2.Timestamp
    remove_at: _timestamp_pb2.Timestamp
    torn_down: WorkerRemoval
    def __init__(self, worker_id: _Optional[str] = ..., agent: _Optional[str] = ..., backend: _Optional[_Union[_codex_sandbox_pb2.Backend.Value, str]] = ..., extension: _Optional[str] = ..., execution_mode: _Optional[_Union[_codex_sandbox_pb2.ExecutionMode.Value, str]] = ..., profile: _Optional[str] = ..., repos: _Optional[_Iterable[_Union[WorkerRepository, _Mapping]]] = ..., workspace_ref: _Optional[str] = ..., codex_home_ref: _Optional[str] = ..., thread_id: _Optional[str] = ..., permissions: _Optional[_Union[Permissions.Value, str]] = ..., teardown: _Optional[_Union[Teardown, _Mapping]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., status: _Optional[_Union[WorkerStatus.Value, str]] = ..., reason: _Optional[str] = ..., latest_seq: _Optional[int] = ..., threads: _Optional[_Iterable[_Union[WorkerThread, _Mapping]]] = ..., sandbox: _Optional[_Union[_codex_sandbox_pb2.WorkerSandbox, _Mapping]] = ..., heartbeat_state: _Optional[_Union[HeartbeatState.Value, str]] = ..., heartbeat_age_ms: _Optional[int] = ..., heartbeat_stale_after_ms: _Optional[int] = ..., pending: _Optional[_Union[WorkerPending, _Mapping]] = ..., usage: _Optional[_Union[WorkerUsage, _Mapping]] = ..., route: _Optional[_Union[_codex_sandbox_pb2.RouteDecision, _Mapping]] = ..., artifacts: _Optional[_Iterable[_Union[WorkerArtifact, _Mapping]]] = ..., held_by_person: _Optional[bool] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., remove_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., torn_down: _Optional[_Union[WorkerRemoval, _Mapping]] = ...) -> None: ...

class WorkerRemoval(_message.Message):
    __slots__ = ("removed", "leftovers")
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    LEFTOVERS_FIELD_NUMBER: _ClassVar[int]
    removed: _containers.RepeatedScalarFieldContainer[str]
    leftovers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, removed: _Optional[_Iterable[str]] = ..., leftovers: _Optional[_Iterable[str]] = ...) -> None: ...

class WorkerThread(_message.Message):
    __slots__ = ("thread_id", "turn_id", "title")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    turn_id: str
    title: str
    def __init__(self, thread_id: _Optional[str] = ..., turn_id: _Optional[str] = ..., title: _Optional[str] = ...) -> None: ...

class WorkerPending(_message.Message):
    __slots__ = ("request_ids", "server_requests")
    REQUEST_IDS_FIELD_NUMBER: _ClassVar[int]
    SERVER_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    request_ids: _containers.RepeatedScalarFieldContainer[str]
    server_requests: _containers.RepeatedCompositeFieldContainer[ServerRequest]
    def __init__(self, request_ids: _Optional[_Iterable[str]] = ..., server_requests: _Optional[_Iterable[_Union[ServerRequest, _Mapping]]] = ...) -> None: ...

class ServerRequest(_message.Message):
    __slots__ = ("server_request_id", "method", "params", "thread_id", "at")
    SERVER_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    server_request_id: str
    method: str
    params: str
    thread_id: str
    at: _timestamp_pb2.Timestamp
    def __init__(self, server_request_id: _Optional[str] = ..., method: _Optional[str] = ..., params: _Optional[str] = ..., thread_id: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WorkerUsage(_message.Message):
    __slots__ = ("requests", "input_tokens", "output_tokens", "cached_tokens")
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    requests: int
    input_tokens: float
    output_tokens: float
    cached_tokens: float
    def __init__(self, requests: _Optional[int] = ..., input_tokens: _Optional[float] = ..., output_tokens: _Optional[float] = ..., cached_tokens: _Optional[float] = ...) -> None: ...

class WorkerArtifact(_message.Message):
    __slots__ = ("name", "type", "size", "sha256")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    size: int
    sha256: str
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., size: _Optional[int] = ..., sha256: _Optional[str] = ...) -> None: ...

class SendRequest(_message.Message):
    __slots__ = ("request", "wait_ms")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    request: WorkerRequest
    wait_ms: int
    def __init__(self, request: _Optional[_Union[WorkerRequest, _Mapping]] = ..., wait_ms: _Optional[int] = ...) -> None: ...

class WorkerRequest(_message.Message):
    __slots__ = ("request_id", "method", "params")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    method: str
    params: str
    def __init__(self, request_id: _Optional[str] = ..., method: _Optional[str] = ..., params: _Optional[str] = ...) -> None: ...

class WorkerReceipt(_message.Message):
    __slots__ = ("worker_id", "request_id", "response", "error", "seq")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    request_id: str
    response: WorkerResult
    error: WorkerError
    seq: int
    def __init__(self, worker_id: _Optional[str] = ..., request_id: _Optional[str] = ..., response: _Optional[_Union[WorkerResult, _Mapping]] = ..., error: _Optional[_Union[WorkerError, _Mapping]] = ..., seq: _Optional[int] = ...) -> None: ...

class WorkerResult(_message.Message):
    __slots__ = ("result",)
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: str
    def __init__(self, result: _Optional[str] = ...) -> None: ...

class WorkerErrorCode(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[WorkerErrorCode.Value]
        forbidden: _ClassVar[WorkerErrorCode.Value]
        invalid_request: _ClassVar[WorkerErrorCode.Value]
        unsupported_method: _ClassVar[WorkerErrorCode.Value]
        conflict: _ClassVar[WorkerErrorCode.Value]
        worker_unavailable: _ClassVar[WorkerErrorCode.Value]
        timeout: _ClassVar[WorkerErrorCode.Value]
        internal_error: _ClassVar[WorkerErrorCode.Value]
        outcome_unknown: _ClassVar[WorkerErrorCode.Value]
    unspecified: WorkerErrorCode.Value
    forbidden: WorkerErrorCode.Value
    invalid_request: WorkerErrorCode.Value
    unsupported_method: WorkerErrorCode.Value
    conflict: WorkerErrorCode.Value
    worker_unavailable: WorkerErrorCode.Value
    timeout: WorkerErrorCode.Value
    internal_error: WorkerErrorCode.Value
    outcome_unknown: WorkerErrorCode.Value
    def __init__(self) -> None: ...

class WorkerError(_message.Message):
    __slots__ = ("code", "message", "retryable", "data")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    code: WorkerErrorCode.Value
    message: str
    retryable: bool
    data: str
    def __init__(self, code: _Optional[_Union[WorkerErrorCode.Value, str]] = ..., message: _Optional[str] = ..., retryable: _Optional[bool] = ..., data: _Optional[str] = ...) -> None: ...

class StopWorkerRequest(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class StopWorkerResponse(_message.Message):
    __slots__ = ("worker_id", "status", "markers")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    MARKERS_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    status: WorkerStatus.Value
    markers: DurabilityMarkers
    def __init__(self, worker_id: _Optional[str] = ..., status: _Optional[_Union[WorkerStatus.Value, str]] = ..., markers: _Optional[_Union[DurabilityMarkers, _Mapping]] = ...) -> None: ...

class TakeWorkerRequest(_message.Message):
    __slots__ = ("thread_id", "desktop")
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    DESKTOP_FIELD_NUMBER: _ClassVar[int]
    thread_id: str
    desktop: str
    def __init__(self, thread_id: _Optional[str] = ..., desktop: _Optional[str] = ...) -> None: ...

class TakeWorkerResponse(_message.Message):
    __slots__ = ("worker_id", "sandbox_id", "terminal_id", "thread_id", "desktop")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    SANDBOX_ID_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_ID_FIELD_NUMBER: _ClassVar[int]
    THREAD_ID_FIELD_NUMBER: _ClassVar[int]
    DESKTOP_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    sandbox_id: str
    terminal_id: str
    thread_id: str
    desktop: str
    def __init__(self, worker_id: _Optional[str] = ..., sandbox_id: _Optional[str] = ..., terminal_id: _Optional[str] = ..., thread_id: _Optional[str] = ..., desktop: _Optional[str] = ...) -> None: ...

class DurabilityMarkers(_message.Message):
    __slots__ = ("last_seq", "workspace_ref", "codex_home_ref", "bundle_ref", "thread_ids")
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    WORKSPACE_REF_FIELD_NUMBER: _ClassVar[int]
    CODEX_HOME_REF_FIELD_NUMBER: _ClassVar[int]
    BUNDLE_REF_FIELD_NUMBER: _ClassVar[int]
    THREAD_IDS_FIELD_NUMBER: _ClassVar[int]
    last_seq: int
    workspace_ref: str
    codex_home_ref: str
    bundle_ref: str
    thread_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, last_seq: _Optional[int] = ..., workspace_ref: _Optional[str] = ..., codex_home_ref: _Optional[str] = ..., bundle_ref: _Optional[str] = ..., thread_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class EraseWorkerResponse(_message.Message):
    __slots__ = ("removed", "resume_after")
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    RESUME_AFTER_FIELD_NUMBER: _ClassVar[int]
    removed: int
    resume_after: int
    def __init__(self, removed: _Optional[int] = ..., resume_after: _Optional[int] = ...) -> None: ...
