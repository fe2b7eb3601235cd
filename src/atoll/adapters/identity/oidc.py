"""OpenID Connect with Authlib: the code flow with PKCE, over connections of our own.

Authlib spells requests and checks claims; the bytes go through `provider_http`, which bounds them.
Discovery and keys are kept a while, and a provider that fails is left alone for some seconds.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

import structlog

from atoll.adapters.identity.id_token import UnknownKey, read_id_token, unproven_login_error
from atoll.adapters.identity.provider_http import Answer, ProviderHttp
from atoll.domain.errors import Forbidden, Unauthenticated, Unavailable
from atoll.domain.event import Json
from atoll.domain.logins.issuer_answers import ends_grant, is_busy
from atoll.domain.people.person import PendingLogin
from atoll.domain.people.realm import Realm, is_safe_url
from atoll.ports.clock import Clock
from atoll.ports.outside.identity import ProviderAnswer, ProviderBusy

FRESH = timedelta(minutes=10)
"""The time for which a discovery document and a key set are used again."""

KEYS_AGAIN = timedelta(seconds=30)
"""The least time between two looks at the keys, for a token with an unknown one."""

PAUSE = timedelta(seconds=3)
"""The time for which a provider that failed gets no further request for its discovery."""

MAX_PAUSE = timedelta(minutes=1)
"""The bound on a longer time that it asks to wait: a person waits to log in."""

MAX_KEPT = 8192
"""The longest token that is kept for later."""

_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_METHODS = ("client_secret_basic", "client_secret_post")


_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Known:
    """A document of a provider, None where it could not be read. It counts until `until`."""

    at: datetime
    body: Mapping[str, Json] | None
    until: datetime


class OidcProvider:
    """The `ports.outside.identity.IdentityProvider`. `secrets` are the clients', by realm."""

    def __init__(self, clock: Clock, secrets: Mapping[str, str], http: ProviderHttp) -> None:
        self._clock = clock
        self._secrets = secrets
        self._http = http
        self._discovered: dict[str, _Known] = {}
        self._keys: dict[str, _Known] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def begin(self, realm: Realm, begun: PendingLogin) -> str:
        """See the port."""
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        found = await self._discover(realm)
        return str(
            prepare_grant_uri(
                str(found["authorization_endpoint"]),
                realm.client_id,
                "code",
                redirect_uri=begun.redirect_uri,
                scope=" ".join(realm.scopes),
                state=begun.state,
                nonce=begun.nonce,
                code_challenge=create_s256_code_challenge(begun.verifier),
                code_challenge_method="S256",
            )
        )

    async def finish(self, realm: Realm, begun: PendingLogin, code: str) -> ProviderAnswer:
        """See the port."""
        answer = await self._token(
            realm,
            "authorization_code",
            code=code,
            redirect_uri=begun.redirect_uri,
            code_verifier=begun.verifier,
        )
        if is_busy(answer.status):
            raise _busy_error(realm, answer, "logs nobody in")
        if answer.status != 200:
            _log.warning(
                "code_refused",
                realm=realm.realm,
                status=answer.status,
                error=repr(_text_field(answer, "error")[:60]),
            )
            raise unproven_login_error()
        claims = await self._verify_id_token(realm, answer, begun.nonce)
        return await self._add_userinfo_claims(realm, answer, claims, claims.get("sub"))

    async def refresh(self, realm: Realm, refresh_token: str, subject: str) -> ProviderAnswer:
        """See the port."""
        answer = await self._token(realm, "refresh_token", refresh_token=refresh_token)
        if answer.status in (400, 401, 403) and ends_grant(answer.body):
            raise Forbidden("the provider has ended this login", code="grant_revoked")
        if answer.status != 200 or not _text_field(answer, "access_token"):
            # Without a token it is the page of something in front of the provider.
            raise _busy_error(realm, answer, "does not refresh logins")
        try:
            found = await self._read_refresh_answer(realm, answer, subject)
        except (Unavailable, Unauthenticated) as error:
            # The old token may be used up, so the new one is kept whatever else fails.
            _log.warning("claims_not_read", realm=realm.realm, reason=error.message)
            after = error.after if isinstance(error, ProviderBusy) else None
            return ProviderAnswer(
                {}, _drop_if_too_long(_text_field(answer, "refresh_token")), after=after
            )
        if found.claims and found.claims.get("sub") != subject:
            raise unproven_login_error()
        return found

    async def _read_refresh_answer(
        self, realm: Realm, answer: Answer, subject: str
    ) -> ProviderAnswer:
        """Return the claims and tokens in the answer to a refresh."""
        claims: Mapping[str, Json] = {}
        if "id_token" in answer.body:
            claims = await self._verify_id_token(realm, answer, None)
        return await self._add_userinfo_claims(realm, answer, claims, subject)

    async def end_url(self, realm: Realm, id_token: str, back: str) -> str | None:
        """See the port."""
        try:
            url = (await self._discover(realm)).get("end_session_endpoint")
        except Unavailable:
            return None
        if not isinstance(url, str) or not is_safe_url(url, plain=realm.local):
            return None
        query = {"client_id": realm.client_id, "post_logout_redirect_uri": back}
        if id_token:
            query["id_token_hint"] = id_token
        return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"

    async def close(self) -> None:
        """See the port."""
        await self._http.close()

    async def _discover(self, realm: Realm) -> Mapping[str, Json]:
        async with self._locks[realm.realm]:
            now, known = self._clock.now(), self._discovered.get(realm.realm)
            if known is not None and now < known.until:
                body = known.body
            else:
                answer = await self._discovery(realm)
                body = None if answer is None else _document(realm, answer)
                if body is None and known is not None:
                    body = known.body  # better an old document than none
                until = now + (_pause(answer) if body is None else FRESH)
                self._discovered[realm.realm] = _Known(now, body, until)
        if body is None:
            raise Unavailable(f"The login provider {realm.realm} cannot be reached: try again.")
        return body

    async def _discovery(self, realm: Realm) -> Answer | None:
        url = f"{realm.issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            return await self._http.get(realm, url)
        except Unavailable:
            return None

    async def _key_set(self, realm: Realm, *, again: bool) -> Mapping[str, Json]:
        now, known = self._clock.now(), self._keys.get(realm.realm)
        fresh = KEYS_AGAIN if again else FRESH
        if known is not None and known.body is not None and now - known.at < fresh:
            return known.body
        found = await self._discover(realm)
        answer = await self._http.get(realm, str(found["jwks_uri"]))
        if answer.status != 200:
            raise _busy_error(realm, answer, "shows no keys")
        self._keys[realm.realm] = _Known(now, answer.body, now + FRESH)
        return answer.body

    async def _token(self, realm: Realm, grant: str, **fields: str) -> Answer:
        from authlib.oauth2.auth import ClientAuth
        from authlib.oauth2.rfc6749.parameters import prepare_token_request

        found = await self._discover(realm)
        url, secret = str(found["token_endpoint"]), self._secrets.get(realm.realm, "")
        auth = ClientAuth(realm.client_id, secret, _method(found, secret))
        body = prepare_token_request(grant, **fields)
        _, headers, body = auth.prepare("POST", url, {}, body)
        return await self._http.post(realm, url, headers, body.encode())

    async def _verify_id_token(
        self, realm: Realm, answer: Answer, nonce: str | None
    ) -> Mapping[str, Json]:
        """Return the claims of a proven ID token. Raises `Unauthenticated` for another one."""
        text, access = answer.body.get("id_token"), _text_field(answer, "access_token")
        if not isinstance(text, str):
            raise unproven_login_error()
        now = int(self._clock.now().timestamp())
        for again in (False, True):
            keys = await self._key_set(realm, again=again)
            try:
                return read_id_token(realm, text, keys, nonce=nonce, access_token=access, now=now)
            except UnknownKey:
                continue
        raise unproven_login_error()

    async def _add_userinfo_claims(
        self, realm: Realm, answer: Answer, claims: Mapping[str, Json], subject: Json
    ) -> ProviderAnswer:
        """Return the claims about a subject with those that only the userinfo endpoint gives;
        none where nobody gives any."""
        url = (await self._discover(realm)).get("userinfo_endpoint")
        access = _text_field(answer, "access_token")
        if isinstance(url, str) and access:
            more = await self._http.get(realm, url, access)
            if more.status != 200:
                raise _busy_error(realm, more, "does not say who that is")
            # A signed answer is no object: its claims are left out.
            if more.body and more.body.get("sub") != subject:
                raise unproven_login_error()
            claims = {**more.body, **claims}
        return ProviderAnswer(
            claims,
            _drop_if_too_long(_text_field(answer, "refresh_token")),
            _drop_if_too_long(_text_field(answer, "id_token")),
        )


def _method(found: Mapping[str, Json], secret: str) -> str:
    """Return how the client proves itself: the first way that both know."""
    if not secret:
        return "none"
    offered = found.get("token_endpoint_auth_methods_supported")
    listed = offered if isinstance(offered, list) else [_METHODS[0]]
    return next((one for one in _METHODS if one in listed), _METHODS[0])


def _busy_error(realm: Realm, answer: Answer, what: str) -> ProviderBusy:
    """Return the error for a provider that cannot answer now."""
    return ProviderBusy(
        f"The login provider {realm.realm} {what} now (status {answer.status}): try again.",
        after=answer.after,
    )


def _document(realm: Realm, answer: Answer) -> Mapping[str, Json] | None:
    """Return the discovery document of an answer; None where it is none of this realm."""
    named = [answer.body.get(name) for name in _ENDPOINTS]
    right = answer.status == 200 and answer.body.get("issuer") == realm.issuer
    safe = all(isinstance(one, str) and is_safe_url(one, plain=realm.local) for one in named)
    return answer.body if right and safe else None


def _pause(answer: Answer | None) -> timedelta:
    """Return how long a provider is left alone that gave no document."""
    asked = timedelta() if answer is None else answer.after or timedelta()
    return min(max(asked, PAUSE), MAX_PAUSE)


def _text_field(answer: Answer, name: str) -> str:
    """Return a text field of the answer; empty when it has none."""
    value = answer.body.get(name)
    return value if isinstance(value, str) else ""


def _drop_if_too_long(text: str) -> str:
    """Return the text; empty when it is too long to be stored."""
    return text if len(text) <= MAX_KEPT else ""
