"""The keys that sign tokens: made at the first use, rotated, and published by their public halves.

They lie in the store, so that every replica signs and verifies alike; the private halves are sealed
by the vault. A key that the vault cannot open any more is replaced, and what it signed holds until
its end: that takes the public half alone.
"""

import json
import secrets
from datetime import datetime, timedelta

import structlog

from atoll.domain.errors import AtollError, Forbidden
from atoll.domain.people.bearer import LIFE, SKEW
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.ports.signer import TokenSigner
from atoll.ports.store.people.tokens import SigningKey
from atoll.ports.store.store import Transaction
from atoll.ports.vault import Vault
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.wire.jwt import BadToken, read_compact

FRESH = timedelta(seconds=2)
"""The time for which the keys that were read are used without another look."""

_KEPT = LIFE + SKEW
"""The time for which a retired key still verifies: the longest life of what it signed."""

_KID_BYTES = 9
_log = structlog.get_logger(__name__)


class SigningKeys:
    """The key set of this installation."""

    def __init__(self, ground: Ground, vault: Vault, signer: TokenSigner) -> None:
        self._ground = ground
        self._vault = vault
        self._signer = signer
        self._known: dict[str, SigningKey] = {}
        self._read_at: datetime | None = None

    async def sign(self, payload: bytes) -> str:
        """Return a token with this payload, signed by the newest key."""
        async with self._ground.store.read() as rows:
            signed = await self._sign_payload(rows, payload)
        if signed is None:
            await self._add(SYSTEM, unless_there=True)
            async with self._ground.store.read() as rows:
                signed = await self._sign_payload(rows, payload)
        if signed is None:
            raise AtollError("no key can sign: try again")
        return signed

    async def payload(self, text: str) -> bytes:
        """Return the payload of a token that a key of ours signed. Raises `BadToken`."""
        kid = read_compact(text).kid
        keys = await self._read_valid_keys()
        if kid not in keys:
            raise BadToken("the key is not ours")
        return self._signer.payload(text, keys[kid].public)

    async def public(self) -> list[dict[str, object]]:
        """Return the keys by which our tokens can be verified now, as JSON Web Keys."""
        return [json.loads(key.public) for key in (await self._read_valid_keys()).values()]

    async def rotate(self, caller: Principal, *, at_once: bool = False) -> str:
        """Make a new key and sign with it from now on; return its id. What older keys signed holds
        until its end, or with `at_once` no longer. Raises `Forbidden`."""
        if not caller.may(Capability.SYSTEM_MANAGE):
            raise Forbidden("only who runs the installation rotates its keys")
        return await self._add(caller, at_once=at_once)

    async def _read_valid_keys(self) -> dict[str, SigningKey]:
        """Return the keys that verify tokens now, by id; they are read again when not fresh."""
        now = self._ground.clock.now()
        if self._read_at is None or not timedelta() <= now - self._read_at < FRESH:
            async with self._ground.store.read() as rows:
                keys = await rows.signing_keys.all()
            self._known, self._read_at = {key.kid: key for key in keys}, now
        return {kid: key for kid, key in self._known.items() if _verifies(key, now)}

    async def _sign_payload(self, rows: Transaction, payload: bytes) -> str | None:
        """Return the signed token; None when there is no signing key or it does not open."""
        signing = [key for key in await rows.signing_keys.all() if key.retired_at is None]
        sealed = await rows.signing_keys.private(signing[-1].kid) if signing else None
        if sealed is None:
            return None
        kid = signing[-1].kid
        try:
            return self._signer.sign(kid, self._vault.open(sealed, _bound_to(kid)), payload)
        except AtollError as error:
            _log.warning("signing_key_unopened", kid=kid, reason=error.message)
            return None

    async def _add(
        self, caller: Principal, *, at_once: bool = False, unless_there: bool = False
    ) -> str:
        now, kid = self._ground.clock.now(), secrets.token_urlsafe(_KID_BYTES)
        pair = self._signer.make(kid)
        sealed = self._vault.seal(pair.private, _bound_to(kid))
        note = Note("auth", "token.keys_rotated", {"kid": kid, "at_once": at_once})
        event = draft_of(note, caller, at=now, event_id=self._ground.ids.event())
        async with self._ground.store.begin() as rows:
            # Another request or replica may have made the first key meanwhile.
            if unless_there and await self._sign_payload(rows, b"{}") is not None:
                return kid
            first = not await rows.signing_keys.all()
            await rows.signing_keys.retire(now)
            await rows.signing_keys.forget(now if at_once else now - _KEPT)
            await rows.signing_keys.add(SigningKey(kid, pair.public, now), sealed)
            # The first key replaces none, and nobody asked for it.
            if not (first and unless_there):
                await rows.events.append((event,))
        self._read_at = None
        self._ground.bus.announce(("auth",))
        return kid


def _bound_to(kid: str) -> tuple[str, str]:
    return ("signing-key", kid)


def _verifies(key: SigningKey, now: datetime) -> bool:
    return key.retired_at is None or now < key.retired_at + _KEPT
