import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Backend(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[Backend.Value]
        in_memory: _ClassVar[Backend.Value]
        cloudflare_sandbox: _ClassVar[Backend.Value]
        daytona: _ClassVar[Backend.Value]
        openagents_gcp: _ClassVar[Backend.Value]
        desktop: _ClassVar[Backend.Value]
        extension: _ClassVar[Backend.Value]
        namespaces: _ClassVar[Backend.Value]
        docker: _ClassVar[Backend.Value]
        microvm: _ClassVar[Backend.Value]
        ssh: _ClassVar[Backend.Value]
        compose_ssh: _ClassVar[Backend.Value]
        daytona_self: _ClassVar[Backend.Value]
        e2b: _ClassVar[Backend.Value]
        modal: _ClassVar[Backend.Value]
        openshell: _ClassVar[Backend.Value]
    unspecified: Backend.Value
    in_memory: Backend.Value
    cloudflare_sandbox: Backend.Value
    daytona: Backend.Value
    openagents_gcp: Backend.Value
    desktop: Backend.Value
    extension: Backend.Value
    namespaces: Backend.Value
    docker: Backend.Value
    microvm: Backend.Value
    ssh: Backend.Value
    compose_ssh: Backend.Value
    daytona_self: Backend.Value
    e2b: Backend.Value
    modal: Backend.Value
    openshell: Backend.Value
    def __init__(self) -> None: ...

class ExecutionMode(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[ExecutionMode.Value]
        desktop: _ClassVar[ExecutionMode.Value]
        sandbox: _ClassVar[ExecutionMode.Value]
    unspecified: ExecutionMode.Value
    desktop: ExecutionMode.Value
    sandbox: ExecutionMode.Value
    def __init__(self) -> None: ...

class IsolationLevel(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[IsolationLevel.Value]
        none: _ClassVar[IsolationLevel.Value]
        policy: _ClassVar[IsolationLevel.Value]
        container: _ClassVar[IsolationLevel.Value]
        microvm: _ClassVar[IsolationLevel.Value]
    unspecified: IsolationLevel.Value
    none: IsolationLevel.Value
    policy: IsolationLevel.Value
    container: IsolationLevel.Value
    microvm: IsolationLevel.Value
    def __init__(self) -> None: ...

class Isolation(_message.Message):
    __slots__ = ("level", "mechanism", "weak", "degraded", "host_uid", "init")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MECHANISM_FIELD_NUMBER: _ClassVar[int]
    WEAK_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    HOST_UID_FIELD_NUMBER: _ClassVar[int]
    INIT_FIELD_NUMBER: _ClassVar[int]
    level: IsolationLevel.Value
    mechanism: str
    weak: bool
    degraded: _containers.RepeatedScalarFieldContainer[str]
    host_uid: int
    init: str
    def __init__(self, level: _Optional[_Union[IsolationLevel.Value, str]] = ..., mechanism: _Optional[str] = ..., weak: _Optional[bool] = ..., degraded: _Optional[_Iterable[str]] = ..., host_uid: _Optional[int] = ..., init: _Optional[str] = ...) -> None: ...

class Placement(_message.Message):
    __slots__ = ("backend", "extension", "host", "region")
    BACKEND_FIELD_NUMBER: _ClassVar[int]
    EXTENSION_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    backend: Backend.Value
    extension: str
    host: str
    region: str
    def __init__(self, backend: _Optional[_Union[Backend.Value, str]] = ..., extension: _Optional[str] = ..., host: _Optional[str] = ..., region: _Optional[str] = ...) -> None: ...

class WorkerSandbox(_message.Message):
    __slots__ = ("id", "isolation", "region", "host")
    ID_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    id: str
    isolation: Isolation
    region: str
    host: str
    def __init__(self, id: _Optional[str] = ..., isolation: _Optional[_Union[Isolation, _Mapping]] = ..., region: _Optional[str] = ..., host: _Optional[str] = ...) -> None: ...

class RouteDecision(_message.Message):
    __slots__ = ("route_id", "at", "strategy", "chosen", "candidates", "attempts")
    ROUTE_ID_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    CHOSEN_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    route_id: str
    at: _timestamp_pb2.Timestamp
    strategy: str
    chosen: Placement
    candidates: _containers.RepeatedCompositeFieldContainer[RouteCandidate]
    attempts: _containers.RepeatedCompositeFieldContainer[RouteAttempt]
    def __init__(self, route_id: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., strategy: _Optional[str] = ..., chosen: _Optional[_Union[Placement, _Mapping]] = ..., candidates: _Optional[_Iterable[_Union[RouteCandidate, _Mapping]]] = ..., attempts: _Optional[_Iterable[_Union[RouteAttempt, _Mapping]]] = ...) -> None: ...

class RouteCandidate(_message.Message):
    __slots__ = ("placement", "execution_mode", "fit", "reasons")
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_MODE_FIELD_NUMBER: _ClassVar[int]
    FIT_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    placement: Placement
    execution_mode: ExecutionMode.Value
    fit: bool
    reasons: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, placement: _Optional[_Union[Placement, _Mapping]] = ..., execution_mode: _Optional[_Union[ExecutionMode.Value, str]] = ..., fit: _Optional[bool] = ..., reasons: _Optional[_Iterable[str]] = ...) -> None: ...

class RouteAttempt(_message.Message):
    __slots__ = ("placement", "at", "reason")
    PLACEMENT_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    placement: Placement
    at: _timestamp_pb2.Timestamp
    reason: str
    def __init__(self, placement: _Optional[_Union[Placement, _Mapping]] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class Desktop(_message.Message):
    __slots__ = ("name", "present", "linked_at", "isolation", "workers", "heard_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    LINKED_AT_FIELD_NUMBER: _ClassVar[int]
    ISOLATION_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    HEARD_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    present: bool
    linked_at: _timestamp_pb2.Timestamp
    isolation: Isolation
    workers: _containers.RepeatedScalarFieldContainer[str]
    heard_at: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., present: _Optional[bool] = ..., linked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., isolation: _Optional[_Union[Isolation, _Mapping]] = ..., workers: _Optional[_Iterable[str]] = ..., heard_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListDesktopsResponse(_message.Message):
    __slots__ = ("desktops",)
    DESKTOPS_FIELD_NUMBER: _ClassVar[int]
    desktops: _containers.RepeatedCompositeFieldContainer[Desktop]
    def __init__(self, desktops: _Optional[_Iterable[_Union[Desktop, _Mapping]]] = ...) -> None: ...
