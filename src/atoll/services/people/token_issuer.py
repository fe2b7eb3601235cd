"""The issuer of signed tokens, and those that runtimes hold for what runs inside their sandbox.

What a token may say is decided where it is requested; here it gets its claims and its signature.
"""

import secrets
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from atoll.domain.ids import SandboxId
from atoll.domain.people.bearer import LIFE, SANDBOX, BearerClaims
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.people.token import granted_capabilities
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.clock import Clock
from atoll.services.people.signing_keys import SigningKeys
from atoll.services.people.tokens import Owners

INSIDE = "sandbox:"
"""The beginning of the origin of a runtime's token; the sandbox's id follows."""

_LEFT_OUT = frozenset({"sandbox_id", "streams", "models"})
"""The claims that most tokens do not have."""


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A signed token, which is kept nowhere, and its claims."""

    text: str = field(repr=False)
    claims: BearerClaims


@dataclass(frozen=True, slots=True)
class Issuer:
    """The names that this installation gives itself in tokens: `url` is the claim `iss`."""

    url: str
    sovereign_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A token to issue, as far as its owner does not say it."""

    audience: str
    origin: str
    ends_at: datetime
    capabilities: frozenset[Capability]
    sandbox_id: SandboxId | None = None
    streams: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


class TokenIssuer:
    """Signs tokens in the name of this installation."""

    def __init__(self, keys: SigningKeys, clock: Clock, owners: Owners, *, issuer: Issuer) -> None:
        self._keys = keys
        self._clock = clock
        self._owners = owners
        self.issuer = issuer

    async def issue(self, owner: Principal, wanted: Wanted) -> IssuedToken:
        """Return a signed token of this owner."""
        now = int(self._clock.now().timestamp())
        claims = BearerClaims(
            iss=self.issuer.url,
            sub=owner.id,
            aud=wanted.audience,
            exp=int(wanted.ends_at.timestamp()),
            iat=now,
            nbf=now,
            jti=secrets.token_urlsafe(12),
            sovereign_id=self.issuer.sovereign_id,
            org_id=owner.org_id,
            roles=owner.roles,
            groups=owner.groups,
            capabilities=tuple(sorted(wanted.capabilities)),
            kind=owner.kind,
            origin=wanted.origin,
            sandbox_id=wanted.sandbox_id,
            streams=wanted.streams,
            models=wanted.models,
        )
        payload = {
            name: value
            for name, value in msgspec.to_builtins(claims).items()
            if value or name not in _LEFT_OUT
        }
        return IssuedToken(await self._keys.sign(msgspec.json.encode(payload)), claims)

    async def inside(self, sandbox: Sandbox) -> IssuedToken | None:
        """Return the token that the runtime of a sandbox holds, None when its owner is gone. It
        reaches that sandbox alone, and only while that runs."""
        owner = await self._owners(sandbox.org_id, sandbox.owner)
        if owner is None:
            return None
        wanted = Wanted(
            audience=SANDBOX,
            origin=f"{INSIDE}{sandbox.id}",
            ends_at=self._clock.now() + LIFE,
            capabilities=held_inside(owner, sandbox),
            sandbox_id=sandbox.id,
        )
        return await self.issue(owner, wanted)


def held_inside(owner: Principal, sandbox: Sandbox) -> frozenset[Capability]:
    """Return what every token of a sandbox has, and what the profile gives beside it."""
    children = Capability.SANDBOX_CHILDREN
    given = sandbox.profile.mcp.children is not None and owner.may(children)
    return granted_capabilities(owner.capabilities, None, inside=True) | (
        {children} if given else set()
    )
