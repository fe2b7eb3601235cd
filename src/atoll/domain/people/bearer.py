"""Short-lived tokens that are signed: their claims, and the rules by which they are believed.

Pure; the signature is a port's matter. A token is made for one audience and refused by every other.
It names what it was made from, so that it ends with a log-out or with its personal access token.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from atoll.domain.errors import Invalid
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.stream import check_stream
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import API_AUDIENCE, BEARER_SECONDS, MAX_SUBSCRIBED

SUBSCRIPTION = "subscription"
"""The audience of tokens that read named streams and read models, and do nothing else."""

SANDBOX = "sandbox"
"""The audience of tokens that runtimes hold for what runs inside."""

OWN_AUDIENCES = frozenset({API_AUDIENCE, SUBSCRIPTION, SANDBOX})

LIFE = timedelta(seconds=BEARER_SECONDS)
"""The longest life of a signed token."""

SKEW = timedelta(seconds=30)
"""The difference between the clocks of two replicas that is allowed for. It never lengthens the
life of a token."""

MODELS = frozenset({"agents", "worker_summaries"})
"""The read models that a subscription may name. `agents` is `GET /v1/agents`."""

EVERYTHING = "*"
"""The name of all streams of the caller, in a subscription."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerClaims:
    """The claims of a signed token (RFC 7519 §4.1, and ours), as they stand in it. Times are whole
    seconds since 1970. `origin` is what it was made from: `token:ID`, `session:MARK`, `home:MARK`
    or `sandbox:ID`."""

    iss: str
    sub: PrincipalId
    aud: str
    exp: int
    iat: int
    nbf: int
    jti: str
    sovereign_id: str
    org_id: OrgId
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    capabilities: tuple[str, ...]
    kind: ActorKind
    origin: str
    sandbox_id: SandboxId | None = None
    streams: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BearerRequest:
    """A request to exchange a credential for a signed token. `audience` may name another service,
    which checks the token by the key set. Raises `Invalid`."""

    audience: str = API_AUDIENCE
    capabilities: tuple[str, ...] | None = None
    seconds: int = int(LIFE.total_seconds())

    def __post_init__(self) -> None:
        if self.audience in OWN_AUDIENCES - {API_AUDIENCE}:
            raise Invalid(f"{self.audience!r} is no audience to exchange for", field="audience")
        _check_life(self.seconds)


@dataclass(frozen=True, slots=True)
class SubscriptionRequest:
    """A request for a token that reads these streams and read models. Raises `Invalid` for none of
    them, too many, or a model there is not."""

    streams: tuple[str, ...]
    models: tuple[str, ...] = ()
    seconds: int = int(LIFE.total_seconds())

    def __post_init__(self) -> None:
        if not self.streams and not self.models:
            raise Invalid("name a stream or a read model to subscribe to", field="streams")
        for field, names in (("streams", self.streams), ("models", self.models)):
            if len(names) > MAX_SUBSCRIBED:
                raise Invalid(f"a subscription names at most {MAX_SUBSCRIBED} {field}", field=field)
        for stream in set(self.streams) - {EVERYTHING}:
            check_stream(stream, field="streams")
        unknown = sorted(set(self.models) - MODELS)
        if unknown:
            raise Invalid(
                f"there is no read model {unknown[0][:60]!r}; there is {', '.join(sorted(MODELS))}",
                field="models",
            )
        _check_life(self.seconds)


def claims_hold(claims: BearerClaims, *, issuer: str, now: datetime) -> bool:
    """Report whether a token with these claims, whose signature is right, holds here and now."""
    at, skew = now.timestamp(), SKEW.total_seconds()
    return (
        claims.iss == issuer
        and claims.aud in OWN_AUDIENCES
        and at < claims.exp
        and max(claims.nbf, claims.iat) <= at + skew
        and claims.exp - claims.iat <= LIFE.total_seconds()
        and (claims.aud == SANDBOX) <= (claims.sandbox_id is not None)
    )


def ends_at(seconds: int, *, now: datetime, maker_ends: datetime | None) -> datetime:
    """Return when a new token ends: never after the token that it is made from."""
    ends = now + timedelta(seconds=seconds)
    return ends if maker_ends is None else min(ends, maker_ends)


def read_capabilities(names: tuple[str, ...]) -> frozenset[Capability]:
    """Return the capabilities of these names; what this program does not know gives nothing."""
    every = {one.value: one for one in Capability}
    return frozenset(every[name] for name in names if name in every)


def _check_life(seconds: int) -> None:
    if not 1 <= seconds <= LIFE.total_seconds():
        raise Invalid("a signed token lives between a second and 15 minutes", field="ttl")
