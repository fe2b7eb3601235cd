"""The token endpoint of an issuer (RFC 6749 §3.2), and what its answers are read into.

A client here is public: PKCE and codes that can be used once protect it, and it has no secret.
"""

import base64
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec

from atoll.adapters.issuers.client import IssuerClient
from atoll.adapters.issuers.http import IssuerAnswer, IssuerHttp, busy_error, lost_answer_error
from atoll.domain.errors import Forbidden
from atoll.domain.event import Json
from atoll.domain.logins.issuer_answers import ends_grant, is_busy, read_seconds
from atoll.domain.logins.redirect import BegunRedirect
from atoll.ports.clock import Clock
from atoll.ports.outside.issuer import LoginTokens

MAX_TOKEN: Final = 16 * 1024
USUAL_LIFE: Final = timedelta(hours=1)
"""The life of an access token where the issuer names none."""

_TOKEN: Final = re.compile(r"[!-~]+")
_ACCOUNT: Final = re.compile(r"[A-Za-z0-9._@:-]{1,200}")


class TokenEndpoint:
    """The token endpoint of an issuer, at `path`. `account_claim` names the claims of an id token
    that lead to the account's id."""

    def __init__(
        self,
        client: IssuerClient,
        http: IssuerHttp,
        clock: Clock,
        *,
        path: str,
        account_claim: tuple[str, ...] = ("sub",),
    ) -> None:
        self._client = client
        self._http = http
        self._clock = clock
        self._url = client.at(path)
        self._account_claim = account_claim

    async def trade(self, code: str, begun: BegunRedirect) -> LoginTokens:
        """Trade a code. Raises what the port does."""
        fields = {
            "grant_type": "authorization_code",
            "client_id": self._client.client_id,
            "code": code,
            "redirect_uri": begun.redirect_uri,
            "code_verifier": begun.verifier,
        }
        return self.read(await self._http.form(self._url, fields))

    async def refresh(self, refresh_token: str, *, as_json: bool) -> LoginTokens:
        """Trade a refresh token. Raises what the port does."""
        fields = {
            "grant_type": "refresh_token",
            "client_id": self._client.client_id,
            "refresh_token": refresh_token,
        }
        send = self._http.json if as_json else self._http.form
        answer = await send(self._url, fields)
        if ends_grant(answer.body) and answer.status < 500:
            raise self._refusal()
        if answer.status != 200:
            raise busy_error(self._client.host, answer)
        # An issuer that does not rotate its tokens leaves the field out (RFC 6749 §6).
        return self._tokens(answer, refresh_token)

    async def ask(self, fields: Mapping[str, str]) -> IssuerAnswer:
        """Return the whole answer to a form of this client."""
        return await self._http.form(self._url, {**fields, "client_id": self._client.client_id})

    def read(self, answer: IssuerAnswer) -> LoginTokens:
        """Return the tokens of an answer to a code. Raises what the port does."""
        if is_busy(answer.status):
            raise busy_error(self._client.host, answer)
        if answer.status != 200:
            raise self._refusal()
        return self._tokens(answer)

    def _refusal(self) -> Forbidden:
        return Forbidden(
            f"The issuer {self._client.host} refused the login: log in again.",
            code="issuer_refused",
        )

    def _tokens(self, answer: IssuerAnswer, refresh_token: str = "") -> LoginTokens:
        access = answer.text("access_token")
        kept = answer.text("refresh_token") or refresh_token
        if not (_is_token(access) and _is_token(kept)):
            raise lost_answer_error(self._client.host)
        return LoginTokens(
            access,
            kept,
            read_seconds(answer.body.get("expires_in")) or self._life(access),
            scopes=tuple(answer.text("scope").split()) or self._client.scopes,
            account=_text_at(claims_of(answer.text("id_token")), self._account_claim),
        )

    def _life(self, access_token: str) -> timedelta:
        """Return the life of a token that says itself when it ends."""
        ends = claims_of(access_token).get("exp")
        if isinstance(ends, int) and not isinstance(ends, bool):
            left = read_seconds(ends - self._clock.now().timestamp())
            return left or timedelta(seconds=1)
        return USUAL_LIFE


def claims_of(token: str) -> Mapping[str, Json]:
    """Return the claims of a JSON Web Token, whose signature is its vendor's business: it came from
    the issuer itself. Empty for any other token."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        data = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        found = msgspec.json.decode(data)
    except (ValueError, msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text_at(claims: Mapping[str, Json], path: tuple[str, ...]) -> str:
    found: Json = dict(claims)
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) and _ACCOUNT.fullmatch(found) else ""


def _is_token(text: str) -> bool:
    return len(text) <= MAX_TOKEN and bool(_TOKEN.fullmatch(text))
