"""Permissions of one sandbox's doors, as the control plane sends them: `PUT /policy`.

A whole policy replaces the one before; there are no differences to apply. It holds secrets,
so it lives in memory on both sides and is never logged or stored. A runtime begins with
`Policy()`, which allows nothing.
"""

from typing import Annotated, ClassVar, Literal

import msgspec

from atoll.wire.contract.call import RuntimeCall, json_call, json_reader
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.terminals import Shade

MAX_POLICY_BYTES = 4 * 1024 * 1024

NetworkMode = Literal["none", "limited", "host-only", "full"]
Slot = Literal["bearer", "header", "query", "basic"]
Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Word = Annotated[str, msgspec.Meta(min_length=1, max_length=256)]


class BadPolicy(ValueError):
    """Error of a malformed policy; the text names the field, never a value."""


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Part of a policy: strict, immutable, by field name. Its `repr` shows no values, since some
    are secret."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class GatewayReach(_Message, frozen=True, kw_only=True):
    """The addresses that a gateway may lead to, beside public ones: those of the server's own
    loopback, and private networks."""

    loopback: bool = False
    ranges: tuple[Word, ...] = ()


class ProviderKey(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """A key for a built-in provider; `base_url` only for a gateway of one's own, and `reach` where
    whose it is does not run the installation."""

    provider: Word
    secret_id: Word
    version: int
    value: str
    base_url: str | None = None
    reach: GatewayReach | None = None


class LoginToken(_Message, frozen=True, kw_only=True):
    """The token of a person's login at the vendor of an agent, and the vendor's id of the
    `account`. A refreshed one has the same `login_id` and a higher `version`. It ends at Unix
    second `ends_at`; None: that is not known."""

    provider: Word
    login_id: Word
    version: int
    value: str
    account: str = ""
    ends_at: float | None = None


class CustomSecret(_Message, frozen=True, kw_only=True):
    """A secret for `/broker/custom/{name}`. `slot_name` is the header's or parameter's name, or
    the user of `basic`; `headers` are further ones of a request that pass with it."""

    secret_id: Word
    name: Word
    version: int
    value: str
    slot: Slot = "bearer"
    slot_name: str = ""
    headers: tuple[str, ...] = ()


class Approved(_Message, frozen=True, kw_only=True):
    """A person let this version of this secret go to this host and port, for this sandbox.
    `until` is Unix seconds, None while the policy lasts; `once` is used up by one request."""

    approval_id: Word
    secret_id: Word
    version: int
    host: Word
    port: Port
    until: float | None = None
    once: bool = False


class EgressRule(_Message, frozen=True, kw_only=True):
    """Allowed destination. `host` is a name, or `*.name` for exactly one more label. `methods` and
    `paths` (prefixes) bind plain HTTP only; empty allows all. `origin` says where the rule comes
    from (`profile`, `preset:pypi`, `owner`)."""

    host: Word
    ports: tuple[Port, ...] = (443,)
    methods: tuple[Word, ...] = ()
    paths: tuple[Word, ...] = ()
    origin: Word = "profile"


class Network(_Message, frozen=True, kw_only=True):
    """The egress door's policy. `denied` hosts (or `*.host`) win over the rules;
    `host_ports` and `ranges` count in `host-only`, `ports` in `full`; the bytes are those that
    leave the sandbox and those that come in, None without bound."""

    mode: NetworkMode = "limited"
    rules: tuple[EgressRule, ...] = ()
    denied: tuple[Word, ...] = ()
    host_ports: tuple[Port, ...] = ()
    ranges: tuple[Word, ...] = ()
    ports: tuple[Port, ...] = ()
    bytes_out_per_hour: int | None = None
    bytes_in_per_hour: int | None = None


class RedactedValue(_Message, frozen=True, kw_only=True):
    """A value that may not be shown: `name` is what a note about it may say."""

    name: Word
    value: str


class DoorLimits(_Message, frozen=True, kw_only=True):
    """Bounds of this sandbox's broker; None takes the runtime's own. `spend_micros` is money a
    provider may cost, in millionths of a US dollar, by provider name; `no_fetch` are providers
    that may be asked to fetch and call nothing."""

    requests_per_minute: int | None = None
    concurrent: int | None = None
    bytes_per_hour: int | None = None
    spend_micros: dict[str, int] = {}
    no_fetch: tuple[Word, ...] = ()


class MoneyLease(_Message, frozen=True, kw_only=True):
    """A part of a budget that this sandbox's models may cost, in millionths of a US dollar, counted
    from the beginning of the lease. Its id stays while it grows. `refusal` is the sentence for a
    client once it is spent."""

    lease_id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    micros: Annotated[int, msgspec.Meta(ge=0)]
    refusal: Annotated[str, msgspec.Meta(max_length=1000)]


class Commands(_Message, frozen=True, kw_only=True):
    """Safety layers 3 and 4: exact argv that `sudo` may run, and what needs a person's approval."""

    sudo: tuple[tuple[str, ...], ...] = ()
    operator: tuple[tuple[str, ...], ...] = ()


class GitRemote(_Message, frozen=True, kw_only=True):
    """A remote reached through the broker with its token. `push` are allowed ref patterns."""

    url: Word
    secret_id: Word
    version: int
    value: str
    push: tuple[Word, ...] = ()


class ApiAccess(_Message, frozen=True, kw_only=True):
    """Access of what runs inside to the control plane at `base_url`. The broker adds `token` to a
    request on its way out; it reaches this sandbox alone."""

    base_url: Word
    token: Annotated[str, msgspec.Meta(min_length=1, max_length=8192)]


class ToolAccess(_Message, frozen=True, kw_only=True):
    """Access of the agents inside to the tools (MCP) of the control plane at `base_url`. The broker
    adds `token` on the way out. It ends at Unix second `ends_at`; a newer policy brings the next
    one before."""

    base_url: Word
    token: Annotated[str, msgspec.Meta(min_length=1, max_length=8192)]
    ends_at: float


class Policy(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """Whole policy of one sandbox. `revision` grows with every change the control plane makes.
    `env` are variables of processes started from now on, over the sandbox's own; `agent_env` those
    of one agent's processes alone, by its name. `record`: every terminal opened from now on is
    recorded. `shade` is the background that its owner works on. What has its default is left out:
    a runtime of an earlier version refuses fields it does not know."""

    revision: int = 0
    providers: tuple[ProviderKey, ...] = ()
    customs: tuple[CustomSecret, ...] = ()
    approvals: tuple[Approved, ...] = ()
    network: Network = Network()
    redacted: tuple[RedactedValue, ...] = ()
    limits: DoorLimits = DoorLimits()
    commands: Commands = Commands()
    remotes: tuple[GitRemote, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    agent_env: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    record: bool = False
    dev: bool = False
    api: ApiAccess | None = None
    logins: tuple[LoginToken, ...] = ()
    tools: ToolAccess | None = None
    shade: Shade | None = None
    leases: tuple[MoneyLease, ...] = ()


class PolicyView(msgspec.Struct, frozen=True):
    """The names and numbers of a policy, without values."""

    revision: int
    providers: list[str]
    customs: list[str]
    network_mode: NetworkMode


class _Codec:
    encoder: ClassVar[msgspec.json.Encoder] = msgspec.json.Encoder()
    decoder: ClassVar[msgspec.json.Decoder[Policy]] = msgspec.json.Decoder(Policy)


def encode_policy(policy: Policy) -> bytes:
    """Return the body of `PUT /policy`."""
    return _Codec.encoder.encode(policy)


def decode_policy(body: bytes) -> Policy:
    """Decode the body of `PUT /policy`. Raises `BadPolicy`."""
    try:
        return _Codec.decoder.decode(body)
    except UNREADABLE as error:
        # Its message names types and paths, never values.
        raise BadPolicy(f"this is no policy: {error}") from None


def put_policy(policy: Policy) -> RuntimeCall[PolicyView]:
    """Replace the runtime's policy."""
    return RuntimeCall("PUT", "/policy", json_reader(PolicyView), body=encode_policy(policy))


def get_policy() -> RuntimeCall[PolicyView]:
    """Return which policy the runtime lives by."""
    return json_call("GET", "/policy", PolicyView)
