"""Sessions of MCP clients: each is its signed id, which any replica reads.

An id is bound to what its client logged in with, and says nothing else. No process holds a
session: it survives every restart.
"""

import asyncio
import secrets
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec

from atoll.domain.people.principal import Principal
from atoll.services.ground import Ground
from atoll.services.people.signing_keys import SigningKeys
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.jwt import BadToken, read_object

AUDIENCE = "mcp-session"
"""The audience of the ids, by which no other token of ours is one."""

LASTS = timedelta(hours=12)
"""The longest life of a session; its client begins another then."""

LOOK_SECONDS = 60.0
"""The interval at which a stream looks whether its session has ended, should nobody announce it."""


class SessionClaims(msgspec.Struct, frozen=True, kw_only=True):
    """The claims of a session's id. `origin` is what its client logged in with, `tools` the mark of
    the list of tools when the session began."""

    aud: str
    jti: str
    exp: int
    org_id: str
    sub: str
    origin: str
    tools: str = ""

    @property
    def ends_at(self) -> datetime:
        """Return when the session ends."""
        return datetime.fromtimestamp(self.exp, UTC)


class McpSessions:
    """Use cases on sessions. `LOOK_SECONDS` may be another for tests."""

    def __init__(
        self, ground: Ground, keys: SigningKeys, *, look_seconds: float = LOOK_SECONDS
    ) -> None:
        self._ground = ground
        self._keys = keys
        self._look_seconds = look_seconds

    async def begin(self, caller: Principal, tools: str) -> str:
        """Return the id of a new session of this caller, whose list of tools has this mark."""
        claims = SessionClaims(
            aud=AUDIENCE,
            jti=secrets.token_urlsafe(12),
            exp=int((self._ground.clock.now() + LASTS).timestamp()),
            org_id=caller.org_id,
            sub=caller.id,
            origin=_origin(caller),
            tools=tools,
        )
        return await self._keys.sign(msgspec.json.encode(claims))

    async def find(self, caller: Principal, text: str) -> SessionClaims | None:
        """Return the session of an id, None when it has ended or is not this caller's."""
        claims = await self._claims(text)
        if claims is None:
            return None
        own = (caller.org_id, caller.id, _origin(caller))
        if (claims.org_id, claims.sub, claims.origin) != own:
            return None
        async with self._ground.store.read() as rows:
            return None if await rows.watches.ended(claims.jti) else claims

    async def end(self, session: SessionClaims) -> None:
        """End a session: its id is no longer valid, and nothing is watched for it."""
        async with self._ground.store.begin() as rows:
            await rows.watches.end(session.jti, session.ends_at)
        self._ground.bus.announce((_stream(session),))

    async def until_ended(self, session: SessionClaims) -> None:
        """Wait until a session has ended, at any replica or by its time."""
        with self._ground.bus.listen(_stream(session)) as listener:
            while self._ground.clock.now() < session.ends_at:
                async with self._ground.store.read() as rows:
                    if await rows.watches.ended(session.jti):
                        return
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._look_seconds):
                        await listener.wait()

    async def _claims(self, text: str) -> SessionClaims | None:
        try:
            payload = await self._keys.payload(text)
            claims = msgspec.convert(read_object(payload), SessionClaims)
        except (BadToken, *UNREADABLE):
            return None
        if claims.aud != AUDIENCE or claims.exp <= self._ground.clock.now().timestamp():
            return None
        return claims


def _stream(session: SessionClaims) -> str:
    """Return the name by which the end of a session is announced."""
    return f"mcp:{session.jti}"


def _origin(caller: Principal) -> str:
    """Return what a caller logged in with: the same for every token that was made from it."""
    return "home" if caller.token is None else caller.token.origin
