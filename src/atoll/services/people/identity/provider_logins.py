"""Logins at a provider, from the first click to the session.

What a login needs on its way is sealed and kept by the browser itself, in a cookie: a visitor who
begins a thousand logins costs no memory and no row. The page trades a ticket, which only the
browser with that cookie can use.
"""

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import structlog

from atoll.domain.errors import AtollError, NotFound, Unauthenticated
from atoll.domain.people.claims import read_claims
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.people.person import (
    LOGIN_LIFE,
    TICKET_LIFE,
    TICKET_PREFIX,
    LoginTicket,
    PendingLogin,
    Person,
    own_route,
)
from atoll.domain.people.principal import Principal
from atoll.domain.people.realm import Realm
from atoll.ports.outside.identity import IdentityProvider, ProviderAnswer
from atoll.ports.vault import Sealed, Vault
from atoll.services.ground import Ground
from atoll.services.people.identity.claimed import ClaimedMemberships
from atoll.services.people.identity.login_log import LoginLog
from atoll.services.people.identity.sessions import PersonSessions, Visitor
from atoll.wire.http.unreadable import UNREADABLE

MAX_COOKIE = 4000
_BOUND_LOGIN = ("oidc-login",)
_BEGIN_AGAIN = "Begin the login again."

_log = structlog.get_logger(__name__)


class KeptGrant(msgspec.Struct, frozen=True):
    """The tokens of a provider that are kept, sealed, for later."""

    refresh_token: str = ""
    id_token: str = ""


@dataclass(frozen=True, slots=True)
class ProviderReply:
    """The parameters with which a provider sends a browser back (RFC 6749 §4.1.2, RFC 9207),
    and the browser's address."""

    state: str
    code: str
    error: str
    issuer: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class LoginResult:
    """A new session's secret, its person, and the route that they wanted, empty for none."""

    session: str
    person: Principal
    route: str


class ProviderLogins:
    """Use cases on logins at providers."""

    def __init__(
        self,
        ground: Ground,
        realms: Mapping[str, Realm],
        provider: IdentityProvider,
        *,
        vault: Vault,
        sessions: PersonSessions,
        claimed: ClaimedMemberships,
        log: LoginLog,
    ) -> None:
        self._ground = ground
        self._provider = provider
        self._vault = vault
        self._claimed = claimed
        self._log = log
        self.realms = realms
        self.sessions = sessions

    async def begin(self, realm: str, redirect_uri: str, route: str) -> tuple[str, str]:
        """Return the provider's address for a new login, and the cookie to keep until its end.
        Raises `NotFound`, `Unavailable`."""
        login_realm = self._realm(realm)
        state, nonce, verifier = (spell_secret(secrets.token_bytes(SECRET_BYTES)) for _ in range(3))
        begun = PendingLogin(
            login_realm.realm,
            state,
            nonce,
            verifier,
            redirect_uri,
            own_route(route),
            self._ground.clock.now() + LOGIN_LIFE,
        )
        return await self._provider.begin(login_realm, begun), self._seal_login(begun)

    async def finish(self, realm: str, cookie: str, reply: ProviderReply) -> str:
        """Return the ticket for the page of the browser with this cookie. Raises `NotFound`,
        `Unavailable`, `Unauthenticated` (code `login_refused`)."""
        login_realm = self._realm(realm)
        try:
            return await self._finish(login_realm, cookie, reply)
        except AtollError as error:
            await self._log.refused(login_realm, error, reply.address)
            raise

    async def _finish(self, realm: Realm, cookie: str, reply: ProviderReply) -> str:
        begun = self._open_cookie(cookie)
        now = self._ground.clock.now()
        if begun is None or begun.realm != realm.realm or begun.expires_at <= now:
            raise _refusal("This login was not begun in this browser, or is over.")
        if not secrets.compare_digest(begun.state.encode(), reply.state.encode()):
            raise _refusal("This answer belongs to another login.")
        if reply.issuer and reply.issuer != realm.issuer:
            raise _refusal("This answer is of another provider.")
        if reply.error or not reply.code:
            raise _refusal("The provider did not log you in.")
        answer = await self._provider.finish(realm, begun, reply.code)
        person = await self._claimed.apply(realm, read_claims(realm, answer.claims))
        return await self._ticket(realm, begun, cookie, person=person, answer=answer)

    async def redeem(self, ticket: str, cookie: str, visitor: Visitor) -> LoginResult | None:
        """Trade a ticket for a session; None when it is unknown, used, too old, or of another
        browser."""
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            record = await rows.login_tickets.redeem(fingerprint(ticket))
            if record is None or record[0].expires_at <= now:
                return None
            if record[0].browser_mark != fingerprint(cookie):
                return None  # and it is used by that
            session = await self.sessions.open(rows, record[0], visitor, record[1])
        person = await self.sessions.by_session(session)
        if person is None:
            return None
        await self._log.entered(person, record[0].realm, visitor.address)
        return LoginResult(session, person, record[0].route)

    async def log_out(self, session: str, back: str) -> str | None:
        """End a session; return the address that logs the person out at the provider, too, None
        where there is none."""
        ended = await self.sessions.end(session)
        if ended is None:
            return None
        ended_session, sealed = ended
        realm = self.realms.get(ended_session.realm)
        if realm is None or realm.issuer != ended_session.issuer:
            return None
        grant = open_grant(self._vault, ended_session.person, sealed)
        return await self._provider.end_url(realm, grant.id_token, back)

    def _realm(self, name: str) -> Realm:
        if name not in self.realms:
            raise NotFound(f"There is no realm {name[:40]!r}: `GET /auth/realms` lists them.")
        return self.realms[name]

    async def _ticket(
        self,
        realm: Realm,
        begun: PendingLogin,
        cookie: str,
        *,
        person: Person,
        answer: ProviderAnswer,
    ) -> str:
        now = self._ground.clock.now()
        text = TICKET_PREFIX + spell_secret(secrets.token_bytes(SECRET_BYTES))
        ticket = LoginTicket(
            fingerprint(begun.state),
            fingerprint(text),
            fingerprint(cookie),
            person.id,
            realm.realm,
            realm.issuer,
            begun.route,
            now + TICKET_LIFE,
        )
        async with self._ground.store.begin() as rows:
            # A used login is remembered as long as its cookie could be shown again.
            await rows.login_tickets.forget(now - LOGIN_LIFE)
            if not await rows.login_tickets.add(
                ticket, close_grant(self._vault, person.id, answer)
            ):
                raise _refusal("This login was finished before.")
        return text

    def _seal_login(self, begun: PendingLogin) -> str:
        """Return a pending login as sealed text for a cookie."""
        sealed = self._vault.seal(msgspec.json.encode(begun).decode(), _BOUND_LOGIN)
        packed = msgspec.msgpack.encode((sealed.key_id, sealed.wrapped, sealed.body))
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")

    def _open_cookie(self, cookie: str) -> PendingLogin | None:
        if not 0 < len(cookie) <= MAX_COOKIE or not cookie.isascii():
            return None
        try:
            packed = base64.urlsafe_b64decode(cookie + "=" * (-len(cookie) % 4))
            sealed = msgspec.msgpack.decode(packed, type=tuple[str, bytes, bytes])
            return msgspec.json.decode(
                self._vault.open(Sealed(*sealed), _BOUND_LOGIN), type=PendingLogin
            )
        except (AtollError, ValueError, *UNREADABLE):
            return None


def close_grant(
    vault: Vault, person_id: str, answer: ProviderAnswer, before: KeptGrant | None = None
) -> Sealed | None:
    """Return what is kept of an answer, sealed; None when there is nothing to refresh by. What a
    refresh does not replace is kept from `before`."""
    earlier = before or KeptGrant()
    refresh_token = answer.refresh_token or earlier.refresh_token
    if not refresh_token:
        return None
    grant = KeptGrant(refresh_token, answer.id_token or earlier.id_token)
    return vault.seal(msgspec.json.encode(grant).decode(), _bound_to(person_id))


def open_grant(vault: Vault, person_id: str, sealed: Sealed | None) -> KeptGrant:
    """Return what was kept; empty where there is nothing, or nothing that opens any more."""
    if sealed is None:
        return KeptGrant()
    try:
        return msgspec.json.decode(vault.open(sealed, _bound_to(person_id)), type=KeptGrant)
    except (AtollError, *UNREADABLE):
        _log.warning("login_grant_unopened", person=person_id)
        return KeptGrant()


def _bound_to(person_id: str) -> tuple[str, str]:
    return ("login-grant", person_id)


def _refusal(sentence: str) -> Unauthenticated:
    return Unauthenticated(f"{sentence} {_BEGIN_AGAIN}", code="login_refused")
