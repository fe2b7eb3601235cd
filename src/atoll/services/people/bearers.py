"""Signed tokens: a credential is exchanged for one, and one is traded for the caller it stands for.

Each lives 15 minutes at most and ends with what it was made from: a personal access token, a log-in
or a sandbox. Whatever is wrong with a token, its sender learns the same.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
import structlog

from atoll.domain.errors import Forbidden
from atoll.domain.ids import NO_ORG, SandboxId
from atoll.domain.people.bearer import (
    SANDBOX,
    SUBSCRIPTION,
    BearerClaims,
    BearerRequest,
    SubscriptionRequest,
    claims_hold,
    ends_at,
    read_capabilities,
)
from atoll.domain.people.capability import Capability, delegate
from atoll.domain.people.login import fingerprint
from atoll.domain.people.principal import Principal, TokenAccess, WorkerAccess
from atoll.domain.sandboxes.sandbox import RUNNING
from atoll.domain.workers.dialled import LEASE_TOKEN
from atoll.ports import EventQuery
from atoll.services.ground import Ground
from atoll.services.people.logins import Logins
from atoll.services.people.memberships import no_organization
from atoll.services.people.signing_keys import SigningKeys
from atoll.services.people.token_issuer import INSIDE, IssuedToken, TokenIssuer, Wanted
from atoll.services.people.tokens import Tokens, is_bound, parent_of, standing_for
from atoll.services.webhooks.named_streams import check_named_streams
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.jwt import BadToken, looks_compact, read_object

WRONG = (
    "the bearer token is not valid: it is unknown, has expired or was revoked; `atoll token list` "
    "shows yours, and the one in $ATOLL_HOME/token is valid here"
)
"""The answer to every token that does not hold."""

_log = structlog.get_logger(__name__)


class Bearers:
    """Bearer credentials of every kind: the token file, personal access tokens, signed tokens."""

    def __init__(
        self,
        ground: Ground,
        keys: SigningKeys,
        tokens: Tokens,
        *,
        logins: Logins,
        issuer: TokenIssuer,
    ) -> None:
        self._ground = ground
        self._keys = keys
        self._tokens = tokens
        self._logins = logins
        self._issuer = issuer

    async def exchange(
        self, caller: Principal, request: BearerRequest, *, session: str | None
    ) -> IssuedToken:
        """Return a signed token with what the caller may do, or less. `session` is the secret of
        the caller's browser, if it came by one. Raises `Forbidden`."""
        _check(caller)
        wanted = Wanted(
            audience=request.audience,
            origin=self._origin(caller, session),
            ends_at=self._end(caller, request.seconds),
            capabilities=delegate(caller.capabilities, request.capabilities),
        )
        return await self._issuer.issue(caller, wanted)

    async def subscribe(
        self, caller: Principal, request: SubscriptionRequest, *, session: str | None
    ) -> IssuedToken:
        """Return a token that reads the named streams and read models, and does nothing else.
        Raises `Forbidden`, and `Invalid` for a stream of nothing."""
        _check(caller)
        needed = {Capability.EVENT_READ} if request.streams else set()
        needed |= {Capability.AGENT_READ} if request.models else set()
        if not needed <= caller.capabilities:
            raise Forbidden("you may not read what this subscription names")
        async with self._ground.store.read() as rows:
            team = await rows.organizations.get(caller.org_id) is not None
            query = EventQuery(caller.org_id, caller.id, team=team)
            await check_named_streams(rows, query, request.streams)
        wanted = Wanted(
            audience=SUBSCRIPTION,
            origin=self._origin(caller, session),
            ends_at=self._end(caller, request.seconds),
            capabilities=frozenset(needed),
            streams=tuple(dict.fromkeys(request.streams)),
            models=tuple(dict.fromkeys(request.models)),
        )
        return await self._issuer.issue(caller, wanted)

    async def by_text(self, text: str, source: str) -> Principal:
        """Return the caller of a bearer token of any kind. Raises `Unauthenticated`, or
        `LimitReached` after too many wrong ones from `source`; with the same words for every
        token that does not hold."""
        caller = await self._caller(text)
        if caller is None:
            raise self._logins.wrong(source, WRONG)
        return caller

    async def signed_only(self, text: str, source: str) -> Principal:
        """Return the caller of a signed token. Raises like `by_text`, also for another kind."""
        if not looks_compact(text):
            raise self._logins.wrong(source, WRONG)
        return await self.by_text(text, source)

    async def holds(self, text: str) -> bool:
        """Return whether a bearer token still stands for a caller. Called at intervals while a
        connection lasts."""
        return await self.current(text) is not None

    async def current(self, text: str) -> Principal | None:
        """Return the caller that a bearer token stands for now. Called while a connection lasts: it
        is no use, and one that does not hold any more is no attempt."""
        if looks_compact(text):
            return await self._by_signature(text)
        if text.startswith(LEASE_TOKEN):
            return await self._by_lease(text)
        return self._logins.by_home(text) or await self._tokens.current(text)

    async def _caller(self, text: str) -> Principal | None:
        if looks_compact(text):
            return await self._by_signature(text)
        if text.startswith(LEASE_TOKEN):
            return await self._by_lease(text)
        return self._logins.by_home(text) or await self._tokens.by_text(text)

    async def _by_lease(self, text: str) -> Principal | None:
        """Return the host of a worker by the token of its lease. One that has ended is told so
        where it delivers, as long as the worker is there."""
        async with self._ground.store.read() as rows:
            lease = await rows.host_leases.by_mark(fingerprint(text))
        if lease is None:
            return None
        owner = await self._tokens.owner(lease.org_id, lease.owner)
        if owner is None:
            return None
        access = TokenAccess(
            f"lease:{lease.key}:{lease.epoch}",
            datetime.max.replace(tzinfo=UTC),
            worker=WorkerAccess(lease.key, lease.worker_id, lease.epoch),
        )
        return standing_for(owner, frozenset({Capability.AGENT_USE}), access)

    async def _by_signature(self, text: str) -> Principal | None:
        try:
            claims = _read(await self._keys.payload(text))
        except BadToken as error:
            _log.info("token_refused", reason=str(error))
            return None
        if not claims_hold(claims, issuer=self._issuer.issuer.url, now=self._ground.clock.now()):
            return None
        if not await self._is_origin_valid(claims):
            return None
        owner = await self._tokens.owner(claims.org_id, claims.sub)
        if owner is None:
            return None
        access = TokenAccess(
            claims.origin,
            datetime.fromtimestamp(claims.exp, self._ground.clock.now().tzinfo),
            claims.sandbox_id,
            claims.aud == SUBSCRIPTION,
            claims.streams,
            claims.models,
        )
        return standing_for(owner, read_capabilities(claims.capabilities), access)

    async def _is_origin_valid(self, claims: BearerClaims) -> bool:
        """Report whether the login, token or sandbox that a token was made from still exists."""
        parent = parent_of(claims.origin)
        if parent is not None:
            return await self._tokens.by_id(parent) is not None
        if claims.aud == SANDBOX:
            return await self._is_sandbox_running(claims)
        return await self._logins.stands(claims.origin)

    async def _is_sandbox_running(self, claims: BearerClaims) -> bool:
        """Report whether the token's sandbox runs and still has the same owner."""
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(SandboxId(claims.origin.removeprefix(INSIDE)))
        return (
            sandbox is not None
            and sandbox.id == claims.sandbox_id
            and (sandbox.org_id, sandbox.owner) == (claims.org_id, claims.sub)
            and sandbox.state in RUNNING
        )

    def _origin(self, caller: Principal, session: str | None) -> str:
        return self._logins.origin(session) if caller.token is None else caller.token.origin

    def _end(self, caller: Principal, seconds: int) -> datetime:
        maker_ends = None if caller.token is None else caller.token.expires_at
        return ends_at(seconds, now=self._ground.clock.now(), maker_ends=maker_ends)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The services of tokens, as surfaces are given them."""

    tokens: Tokens
    bearers: Bearers
    signing_keys: SigningKeys


def _read(payload: bytes) -> BearerClaims:
    """Return the claims of a payload. Raises `BadToken`."""
    try:
        return msgspec.convert(read_object(payload), BearerClaims)
    except UNREADABLE as error:
        raise BadToken("the claims are not ours") from error


def _check(caller: Principal) -> None:
    if caller.org_id == NO_ORG:
        raise no_organization()
    if is_bound(caller):
        raise Forbidden("you may not exchange this for another token")
