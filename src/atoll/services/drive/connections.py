"""Connections of people to their drives: consent, the token for later, and its end.

What a connection needs on its way is sealed and kept by the browser that began it; only the same
session finishes it. The token for later is a secret of its person, which nobody can read, set or
rotate, and which no runtime receives.
"""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from atoll.domain.drive.drive import BegunConnection, DriveAccess
from atoll.domain.errors import AtollError, Forbidden, NotFound, Unauthenticated
from atoll.domain.ids import SecretId
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.people.principal import Principal
from atoll.domain.secrets.secret import Secret, Use, bound_to
from atoll.ports import Kept, Transaction, Vault
from atoll.ports.outside.drive import CloudDrive
from atoll.ports.vault import Sealed
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.events import ActorKind
from atoll.wire.words.secrets import PERSON_SCOPE, Purpose

CONNECTION_LIFE = timedelta(minutes=10)
"""The time in which a person consents."""

SECRET_NAME = "GOOGLE_DRIVE"  # noqa: S105 - the name of a secret
MAX_COOKIE = 4000
MAX_KEPT = 1000
_MARGIN = timedelta(minutes=1)
_BOUND = ("drive-connection",)


@dataclass(frozen=True, slots=True)
class DriveStatus:
    """A person's connection. `available` is false where no administrator has set a client; the
    others are None while nothing is connected."""

    available: bool
    account: str | None = None
    connected_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConsentReply:
    """The parameters with which a drive sends a browser back (RFC 6749 §4.1.2)."""

    state: str
    code: str


class DriveConnections:
    """Use cases on connections. All raise `Forbidden` for who is no person, what the port
    `CloudDrive` raises, and `NotFound`: code `no_drive` where none is set up, `not_connected` for a
    person without a connection."""

    def __init__(self, ground: Ground, drive: CloudDrive | None, *, vault: Vault) -> None:
        self._ground = ground
        self._drive = drive
        self._vault = vault
        self._accesses: dict[tuple[str, int], DriveAccess] = {}

    @property
    def drive(self) -> CloudDrive:
        """The drive."""
        if self._drive is None:
            raise NotFound(
                "Google Drive is not set up here: an administrator sets drive_client_id.",
                code="no_drive",
            )
        return self._drive

    async def status(self, caller: Principal) -> DriveStatus:
        """Return whether the caller's account is connected."""
        check_person(caller)
        async with self._ground.store.read() as rows:
            entry = await _find_drive_secret(rows, caller)
        if entry is None:
            return DriveStatus(self._drive is not None)
        secret = entry.secret
        return DriveStatus(self._drive is not None, secret.use.target, secret.updated_at)

    def begin(self, caller: Principal, session: str | None, redirect_uri: str) -> tuple[str, str]:
        """Return the address for a person's consent, and the cookie to keep until they are back."""
        check_person(caller)
        if caller.token is not None:
            raise Forbidden("a drive is connected in the page, by the person who consents")
        state, verifier = (spell_secret(secrets.token_bytes(SECRET_BYTES)) for _ in range(2))
        begun = BegunConnection(
            caller.org_id,
            caller.id,
            fingerprint(session or ""),
            state,
            verifier,
            redirect_uri,
            self._ground.clock.now() + CONNECTION_LIFE,
        )
        return self.drive.consent_url(begun), self._seal_connection(begun)

    async def finish(
        self, caller: Principal, session: str | None, *, cookie: str, reply: ConsentReply
    ) -> DriveStatus:
        """Trade the code and keep the token. Raises `Unauthenticated` (code `drive_not_begun`) when
        this session did not begin it, or too long ago."""
        check_person(caller)
        begun = self._open_cookie(cookie)
        mine = begun is not None and (begun.org_id, begun.person, begun.session_mark) == (
            caller.org_id, caller.id, fingerprint(session or ""),
        )  # fmt: skip
        if begun is None or not mine or begun.expires_at <= self._ground.clock.now():
            raise _not_begun()
        if not secrets.compare_digest(begun.state.encode(), reply.state.encode()):
            raise _not_begun()
        if not reply.code:
            raise Forbidden("You did not consent: nothing is connected.", code="drive_ended")
        grant = await self.drive.connect(begun, reply.code)
        await self._keep(caller, grant.account, grant.refresh_token)
        return await self.status(caller)

    async def disconnect(self, caller: Principal) -> bool:
        """Have the drive end the consent, and drop the token. Returns false when the drive could
        not be reached: the person then ends the consent there."""
        check_person(caller)
        entry = await self._mine(caller)
        try:
            await self.drive.revoke(self._open_value(entry))
            revoked = True
        except AtollError:
            revoked = False
        await self._drop(caller, entry.secret, "revoked" if revoked else "dropped")
        return revoked

    async def access(self, caller: Principal) -> DriveAccess:
        """Return a token for some minutes. A consent that ended at the drive is disconnected."""
        check_person(caller)
        drive, entry = self.drive, await self._mine(caller)
        now, place = self._ground.clock.now(), (entry.secret.id, entry.secret.version)
        known = self._accesses.get(place)
        if known is not None and known.expires_at - _MARGIN > now:
            return known
        try:
            access = await drive.access(self._open_value(entry))
        except Forbidden as error:
            if error.code == "drive_ended":
                await self._drop(caller, entry.secret, "ended")
            raise
        if len(self._accesses) >= MAX_KEPT:
            self._accesses.clear()
        self._accesses[place] = access
        return access

    def forget(self, access: DriveAccess) -> None:
        """Forget a token that the drive refused."""
        self._accesses = {at: known for at, known in self._accesses.items() if known != access}

    async def _mine(self, caller: Principal) -> Kept:
        async with self._ground.store.read() as rows:
            entry = await _find_drive_secret(rows, caller)
        if entry is None:
            raise NotFound(
                "Your Google Drive is not connected: `atoll drive connect` shows how.",
                code="not_connected",
            )
        return entry

    async def _keep(self, caller: Principal, account: str, value: str) -> None:
        now = self._ground.clock.now()
        use = Use(Purpose.DRIVE, target=account)
        mark = self._vault.fingerprint(value, caller.org_id)
        async with self._ground.store.begin() as rows:
            before = await _find_drive_secret(rows, caller)
            if before is None:
                named = Secret(
                    SecretId(self._ground.ids.new("sec")), caller.org_id, caller.id,
                    SECRET_NAME, PERSON_SCOPE,
                    use, 0, "", "", 0, now, now,
                )  # fmt: skip
            else:
                named = before.secret
            secret = replace(
                named,
                use=use,
                version=named.version + 1,
                fingerprint=mark,
                size=len(value.encode()),
                updated_at=now,
            )
            await rows.secrets.put(secret, self._vault.seal(value, bound_to(secret)))
            await self._note(rows, caller, secret, "drive.connected", {})
        self._ground.bus.announce((f"secret:{secret.id}",))

    async def _drop(self, caller: Principal, secret: Secret, how: str) -> None:
        async with self._ground.store.begin() as rows:
            entry = await _find_drive_secret(rows, caller)
            if entry is None or entry.secret.version != secret.version:
                return  # connected anew meanwhile
            await rows.secrets.remove(secret.id)
            await self._note(rows, caller, secret, "drive.disconnected", {"how": how})
        self._accesses.pop((secret.id, secret.version), None)
        self._ground.bus.announce((f"secret:{secret.id}",))

    async def _note(
        self,
        rows: Transaction,
        caller: Principal,
        secret: Secret,
        kind: str,
        more: Mapping[str, str],
    ) -> None:
        note = Note(f"secret:{secret.id}", kind, {"secret_id": secret.id, **more})
        ground = self._ground
        draft = draft_of(note, caller, at=ground.clock.now(), event_id=ground.ids.event())
        await rows.events.append((draft,))

    def _open_value(self, entry: Kept) -> str:
        """Return the refresh token of a connected drive."""
        return self._vault.open(entry.sealed, bound_to(entry.secret))

    def _seal_connection(self, begun: BegunConnection) -> str:
        """Return a begun connection as sealed text for a cookie."""
        sealed = self._vault.seal(msgspec.json.encode(begun).decode(), _BOUND)
        packed = msgspec.msgpack.encode((sealed.key_id, sealed.wrapped, sealed.body))
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    def _open_cookie(self, cookie: str) -> BegunConnection | None:
        if not 0 < len(cookie) <= MAX_COOKIE or not cookie.isascii():
            return None
        try:
            packed = base64.urlsafe_b64decode(cookie + "=" * (-len(cookie) % 4))
            sealed = Sealed(*msgspec.msgpack.decode(packed, type=tuple[str, bytes, bytes]))
            return msgspec.json.decode(self._vault.open(sealed, _BOUND), type=BegunConnection)
        except (AtollError, ValueError, *UNREADABLE):
            return None


def check_person(caller: Principal) -> None:
    """Raise `Forbidden` for guests, agents and automation: a drive is a person's own."""
    if caller.kind is not ActorKind.PERSON or caller.guest_access is not None:
        raise Forbidden("only a person may use their own drive")


async def _find_drive_secret(rows: Transaction, caller: Principal) -> Kept | None:
    """Return the stored secret of the caller's drive, None when there is none."""
    for entry in await rows.secrets.sealed(caller.org_id, caller.id):
        if entry.secret.use.purpose is Purpose.DRIVE and entry.secret.owner == caller.id:
            return entry
    return None


def _not_begun() -> Unauthenticated:
    return Unauthenticated(
        "This connection was not begun in this browser, or is over: begin it again.",
        code="drive_not_begun",
    )
