"""An issuer of OAuth: the device grant (RFC 8628), the code flow with PKCE (RFC 7636), and
revocation (RFC 7009)."""

from dataclasses import dataclass

from atoll.adapters.issuers.client import IssuerClient
from atoll.adapters.issuers.http import IssuerAnswer, IssuerHttp, busy_error, lost_answer_error
from atoll.adapters.issuers.tokens import TokenEndpoint
from atoll.domain.errors import Forbidden, Unavailable
from atoll.domain.logins.agent_login import PollUnanswered
from atoll.domain.logins.issuer_answers import PollVerdict, is_busy, poll_verdict, read_seconds
from atoll.domain.logins.redirect import AuthorizeRequest, BegunRedirect, authorize_url
from atoll.domain.people.realm import is_safe_url
from atoll.ports.clock import Clock
from atoll.ports.outside.issuer import DeviceCode, LoginTokens

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass(frozen=True, slots=True)
class OAuthPaths:
    """The paths of an issuer's endpoints."""

    device: str = "/oauth/device/code"
    authorize: str = "/oauth/authorize"
    tokens: str = "/oauth/token"
    revocation: str = "/oauth/revoke"


class DeviceGrantIssuer:
    """The `ports.outside.issuer.AgentIssuer` by the standards."""

    def __init__(
        self,
        client: IssuerClient,
        http: IssuerHttp,
        clock: Clock,
        *,
        paths: OAuthPaths | None = None,
    ) -> None:
        self._client = client
        self._http = http
        self._paths = paths or OAuthPaths()
        self._tokens = TokenEndpoint(client, http, clock, path=self._paths.tokens)

    async def begin(self) -> DeviceCode:
        """See the port."""
        fields = {"client_id": self._client.client_id, "scope": " ".join(self._client.scopes)}
        answer = await self._http.form(self._client.at(self._paths.device), fields)
        page = answer.text("verification_uri_complete") or answer.text("verification_uri")
        found = DeviceCode(
            answer.text("device_code"),
            answer.text("user_code"),
            page,
            read_seconds(answer.body.get("expires_in")),
            read_seconds(answer.body.get("interval")),
        )
        check_begun(answer, found, self._client)
        return found

    async def poll(self, device: DeviceCode) -> LoginTokens | PollVerdict:
        """See the port."""
        try:
            answer = await self._tokens.ask(
                {"grant_type": _GRANT, "device_code": device.device_code}
            )
        except Unavailable:
            # A lost answer may have held the tokens: then the next poll is refused.
            return PollUnanswered()
        if answer.status == 200:
            return self._tokens.read(answer)
        return poll_verdict(answer.status, answer.text("error"))

    def page_of(self, begun: BegunRedirect) -> str:
        """See the port."""
        endpoint = self._client.at(self._paths.authorize)
        request = AuthorizeRequest(endpoint, self._client.client_id, self._client.scopes)
        return authorize_url(request, begun)

    async def trade(self, begun: BegunRedirect, code: str) -> LoginTokens:
        """See the port."""
        return await self._tokens.trade(code, begun)

    async def refresh(self, refresh_token: str) -> LoginTokens:
        """See the port."""
        return await self._tokens.refresh(refresh_token, as_json=False)

    async def revoke(self, refresh_token: str) -> None:
        """See the port."""
        fields = {"token": refresh_token, "token_type_hint": "refresh_token"}
        answer = await self._http.form(
            self._client.at(self._paths.revocation),
            {**fields, "client_id": self._client.client_id},
        )
        if is_busy(answer.status):
            raise busy_error(self._client.host, answer)


def check_begun(answer: IssuerAnswer, found: DeviceCode, client: IssuerClient) -> None:
    """Check the answer to a request for a device code. Raises what the port does."""
    if is_busy(answer.status):
        raise busy_error(client.host, answer)
    if answer.status != 200:
        raise Forbidden(
            f"The issuer {client.host} does not log in by device code: an administrator checks the "
            "issuer and the client id.",
            code="issuer_refused",
        )
    shown = f"{found.user_code}{found.page}"
    whole = found.device_code and found.user_code and shown.isprintable() and len(shown) < 2000
    if not whole or not is_safe_url(found.page, plain=True):
        raise lost_answer_error(client.host)
