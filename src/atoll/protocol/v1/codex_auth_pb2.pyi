import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LoginMethod(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        browser: _ClassVar[LoginMethod.Value]
        device_code: _ClassVar[LoginMethod.Value]
        api_key: _ClassVar[LoginMethod.Value]
    browser: LoginMethod.Value
    device_code: LoginMethod.Value
    api_key: LoginMethod.Value
    def __init__(self) -> None: ...

class LoginState(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[LoginState.Value]
        pending: _ClassVar[LoginState.Value]
        slow_down: _ClassVar[LoginState.Value]
        completed: _ClassVar[LoginState.Value]
        denied: _ClassVar[LoginState.Value]
        expired: _ClassVar[LoginState.Value]
        cancelled: _ClassVar[LoginState.Value]
        failed: _ClassVar[LoginState.Value]
    unspecified: LoginState.Value
    pending: LoginState.Value
    slow_down: LoginState.Value
    completed: LoginState.Value
    denied: LoginState.Value
    expired: LoginState.Value
    cancelled: LoginState.Value
    failed: LoginState.Value
    def __init__(self) -> None: ...

class TokenStatus(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[TokenStatus.Value]
        valid: _ClassVar[TokenStatus.Value]
        refreshing: _ClassVar[TokenStatus.Value]
        expired: _ClassVar[TokenStatus.Value]
        revoked: _ClassVar[TokenStatus.Value]
        refused: _ClassVar[TokenStatus.Value]
    unspecified: TokenStatus.Value
    valid: TokenStatus.Value
    refreshing: TokenStatus.Value
    expired: TokenStatus.Value
    revoked: TokenStatus.Value
    refused: TokenStatus.Value
    def __init__(self) -> None: ...

class StartLoginRequest(_message.Message):
    __slots__ = ("agent", "method", "scopes")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    agent: str
    method: int
    scopes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, agent: _Optional[str] = ..., method: _Optional[int] = ..., scopes: _Optional[_Iterable[str]] = ...) -> None: ...

class LoginFlow(_message.Message):
    __slots__ = ("login_id", "agent", "method", "state", "device", "browser", "token_ref", "reason")
    LOGIN_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    BROWSER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_REF_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    login_id: str
    agent: str
    method: int
    state: LoginState.Value
    device: DeviceCodePrompt
    browser: BrowserPrompt
    token_ref: TokenReference
    reason: str
    def __init__(self, login_id: _Optional[str] = ..., agent: _Optional[str] = ..., method: _Optional[int] = ..., state: _Optional[_Union[LoginState.Value, str]] = ..., device: _Optional[_Union[DeviceCodePrompt, _Mapping]] = ..., browser: _Optional[_Union[BrowserPrompt, _Mapping]] = ..., token_ref: _Optional[_Union[TokenReference, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class DeviceCodePrompt(_message.Message):
    __slots__ = ("user_code", "verification_uri", "interval_seconds", "expires_at")
    USER_CODE_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_URI_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    user_code: str
    verification_uri: str
    interval_seconds: int
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, user_code: _Optional[str] = ..., verification_uri: _Optional[str] = ..., interval_seconds: _Optional[int] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class BrowserPrompt(_message.Message):
    __slots__ = ("login_uri", "expires_at")
    LOGIN_URI_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    login_uri: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, login_uri: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CallbackStatus(_message.Message):
    __slots__ = ("login_id", "state", "error")
    LOGIN_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    login_id: str
    state: LoginState.Value
    error: str
    def __init__(self, login_id: _Optional[str] = ..., state: _Optional[_Union[LoginState.Value, str]] = ..., error: _Optional[str] = ...) -> None: ...

class TokenReference(_message.Message):
    __slots__ = ("token_ref", "agent", "method", "status", "scopes", "expires_at", "account", "refreshed_at")
    TOKEN_REF_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    REFRESHED_AT_FIELD_NUMBER: _ClassVar[int]
    token_ref: str
    agent: str
    method: int
    status: TokenStatus.Value
    scopes: _containers.RepeatedScalarFieldContainer[str]
    expires_at: _timestamp_pb2.Timestamp
    account: str
    refreshed_at: _timestamp_pb2.Timestamp
    def __init__(self, token_ref: _Optional[str] = ..., agent: _Optional[str] = ..., method: _Optional[int] = ..., status: _Optional[_Union[TokenStatus.Value, str]] = ..., scopes: _Optional[_Iterable[str]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., account: _Optional[str] = ..., refreshed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListLoginsResponse(_message.Message):
    __slots__ = ("logins", "next")
    LOGINS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    logins: _containers.RepeatedCompositeFieldContainer[TokenReference]
    next: str
    def __init__(self, logins: _Optional[_Iterable[_Union[TokenReference, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...

class LoginHydration(_message.Message):
    __slots__ = ("worker_id", "token_ref", "agent", "files", "exposed")
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    TOKEN_REF_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    EXPOSED_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    token_ref: str
    agent: str
    files: _containers.RepeatedScalarFieldContainer[str]
    exposed: bool
    def __init__(self, worker_id: _Optional[str] = ..., token_ref: _Optional[str] = ..., agent: _Optional[str] = ..., files: _Optional[_Iterable[str]] = ..., exposed: _Optional[bool] = ...) -> None: ...

class AgentLoginStatus(_message.Message):
    __slots__ = ()
    class Value(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        unspecified: _ClassVar[AgentLoginStatus.Value]
        requested: _ClassVar[AgentLoginStatus.Value]
        pending: _ClassVar[AgentLoginStatus.Value]
        ready: _ClassVar[AgentLoginStatus.Value]
        denied: _ClassVar[AgentLoginStatus.Value]
        expired: _ClassVar[AgentLoginStatus.Value]
        failed: _ClassVar[AgentLoginStatus.Value]
        revoked: _ClassVar[AgentLoginStatus.Value]
    unspecified: AgentLoginStatus.Value
    requested: AgentLoginStatus.Value
    pending: AgentLoginStatus.Value
    ready: AgentLoginStatus.Value
    denied: AgentLoginStatus.Value
    expired: AgentLoginStatus.Value
    failed: AgentLoginStatus.Value
    revoked: AgentLoginStatus.Value
    def __init__(self) -> None: ...

class AgentLogin(_message.Message):
    __slots__ = ("id", "agent", "method", "status", "reason", "in_use", "token_ref", "scopes", "page", "user_code", "created_at", "expires_at", "provider", "exposed_to")
    ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    IN_USE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_REF_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    USER_CODE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    EXPOSED_TO_FIELD_NUMBER: _ClassVar[int]
    id: str
    agent: str
    method: int
    status: AgentLoginStatus.Value
    reason: str
    in_use: bool
    token_ref: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    page: str
    user_code: str
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    provider: str
    exposed_to: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, id: _Optional[str] = ..., agent: _Optional[str] = ..., method: _Optional[int] = ..., status: _Optional[_Union[AgentLoginStatus.Value, str]] = ..., reason: _Optional[str] = ..., in_use: _Optional[bool] = ..., token_ref: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., page: _Optional[str] = ..., user_code: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., provider: _Optional[str] = ..., exposed_to: _Optional[_Iterable[str]] = ...) -> None: ...

class ListAgentLoginsResponse(_message.Message):
    __slots__ = ("logins", "next")
    LOGINS_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    logins: _containers.RepeatedCompositeFieldContainer[AgentLogin]
    next: str
    def __init__(self, logins: _Optional[_Iterable[_Union[AgentLogin, _Mapping]]] = ..., next: _Optional[str] = ...) -> None: ...
