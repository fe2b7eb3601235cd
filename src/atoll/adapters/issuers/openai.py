"""OpenAI's issuer, by the device flow of its own clients.

A poll answers 403 or 404 until the person has confirmed, then with a code and its verifier, which
are traded at once. Refreshes are JSON; the account's id is a claim of the id token.
"""

from datetime import timedelta
from typing import Final

from atoll.adapters.issuers.client import IssuerClient
from atoll.adapters.issuers.device_grant import check_begun
from atoll.adapters.issuers.http import IssuerHttp, busy_error, lost_answer_error
from atoll.adapters.issuers.tokens import TokenEndpoint
from atoll.domain.errors import Unavailable
from atoll.domain.logins.agent_login import PollUnanswered
from atoll.domain.logins.issuer_answers import (
    PollVerdict,
    is_busy,
    openai_poll_verdict,
    read_seconds,
)
from atoll.domain.logins.redirect import AuthorizeRequest, BegunRedirect, authorize_url
from atoll.ports.clock import Clock
from atoll.ports.outside.issuer import DeviceCode, LoginTokens

ACCOUNT_CLAIM: Final = ("https://api.openai.com/auth", "chatgpt_account_id")
SCOPES: Final = ("openid", "profile", "email", "offline_access")
TRADE_PAUSES: Final = tuple(timedelta(seconds=seconds) for seconds in (1, 2, 5, 10))
_DEVICE: Final = "/api/accounts/deviceauth"
_MORE: Final = (("id_token_add_organizations", "true"), ("codex_cli_simplified_flow", "true"))


class OpenAIIssuer:
    """The `ports.outside.issuer.AgentIssuer` of OpenAI."""

    def __init__(self, client: IssuerClient, http: IssuerHttp, clock: Clock) -> None:
        self._client = client
        self._http = http
        self._clock = clock
        self._tokens = TokenEndpoint(
            client, http, clock, path="/oauth/token", account_claim=ACCOUNT_CLAIM
        )

    async def begin(self) -> DeviceCode:
        """See the port."""
        url = self._client.at(f"{_DEVICE}/usercode")
        answer = await self._http.json(url, {"client_id": self._client.client_id})
        found = DeviceCode(
            answer.text("device_auth_id"),
            answer.text("user_code"),
            self._client.at("/codex/device"),
            read_seconds(answer.body.get("expires_in")),
            read_seconds(answer.body.get("interval")),
        )
        check_begun(answer, found, self._client)
        return found

    async def poll(self, device: DeviceCode) -> LoginTokens | PollVerdict:
        """See the port."""
        fields = {"device_auth_id": device.device_code, "user_code": device.user_code}
        try:
            answer = await self._http.json(self._client.at(f"{_DEVICE}/token"), fields)
        except Unavailable:
            return PollUnanswered()
        if answer.status != 200:
            return openai_poll_verdict(answer.status)
        code, verifier = answer.text("authorization_code"), answer.text("code_verifier")
        if not code or not verifier:
            raise lost_answer_error(self._client.host)
        redirect = self._client.at("/deviceauth/callback")
        return await self._trade_soon(code, BegunRedirect("", verifier, redirect))

    async def _trade_soon(self, code: str, begun: BegunRedirect) -> LoginTokens:
        """Trade a code that nobody keeps: at a busy issuer some times, then the login is over."""
        for pause in TRADE_PAUSES:
            try:
                return await self._tokens.trade(code, begun)
            except Unavailable as error:
                if error.code == "answer_lost":
                    raise
            await self._clock.sleep_until(self._clock.now() + pause)
        try:
            return await self._tokens.trade(code, begun)
        except Unavailable as error:
            raise lost_answer_error(self._client.host) from error

    def page_of(self, begun: BegunRedirect) -> str:
        """See the port."""
        scopes = self._client.scopes or SCOPES
        request = AuthorizeRequest(
            self._client.at("/oauth/authorize"), self._client.client_id, scopes, _MORE
        )
        return authorize_url(request, begun)

    async def trade(self, begun: BegunRedirect, code: str) -> LoginTokens:
        """See the port."""
        return await self._tokens.trade(code, begun)

    async def refresh(self, refresh_token: str) -> LoginTokens:
        """See the port."""
        return await self._tokens.refresh(refresh_token, as_json=True)

    async def revoke(self, refresh_token: str) -> None:
        """See the port."""
        fields = {
            "token": refresh_token,
            "token_type_hint": "refresh_token",
            "client_id": self._client.client_id,
        }
        answer = await self._http.json(self._client.at("/oauth/revoke"), fields)
        if is_busy(answer.status):
            raise busy_error(self._client.host, answer)
