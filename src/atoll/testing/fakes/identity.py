"""A login provider in memory."""

from collections.abc import Mapping
from urllib.parse import parse_qs, urlencode, urlsplit

from atoll.domain.errors import Forbidden, Unauthenticated
from atoll.domain.event import Json
from atoll.domain.people.person import PendingLogin
from atoll.domain.people.realm import Realm
from atoll.ports.outside.identity import ProviderAnswer


class FakeIdentityProvider:
    """A `ports.outside.identity.IdentityProvider`. `people` are the claims of those it knows, by
    subject; `confirm` and `revoke` are what a person does there."""

    def __init__(self, people: Mapping[str, Mapping[str, Json]] | None = None) -> None:
        self.people = dict(people or {})
        self._codes: dict[str, tuple[str, str]] = {}
        self._grants: dict[str, str] = {}

    def confirm(self, url: str, subject: str) -> str:
        """Log a person in at the address of `begin`; return the code."""
        code = f"code-{len(self._codes)}"
        self._codes[code] = (subject, parse_qs(urlsplit(url).query)["nonce"][0])
        return code

    def revoke(self, subject: str) -> None:
        """End a person's logins."""
        self._grants = {text: owner for text, owner in self._grants.items() if owner != subject}

    async def begin(self, realm: Realm, begun: PendingLogin) -> str:
        """See the port."""
        query = {
            "client_id": realm.client_id,
            "redirect_uri": begun.redirect_uri,
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge_method": "S256",
        }
        return f"{realm.issuer}/authorize?{urlencode(query)}"

    async def finish(self, realm: Realm, begun: PendingLogin, code: str) -> ProviderAnswer:
        """See the port."""
        subject, nonce = self._codes.get(code, ("", ""))
        self._codes[code] = ("", "")
        if not subject or nonce != begun.nonce:
            raise Unauthenticated("the login was refused", code="login_refused")
        grant = f"grant-{code}"
        self._grants[grant] = subject
        return ProviderAnswer(self._claims(subject), grant)

    async def refresh(self, realm: Realm, refresh_token: str, subject: str) -> ProviderAnswer:
        """See the port."""
        if self._grants.get(refresh_token) != subject:
            raise Forbidden("the provider has ended this login", code="grant_revoked")
        return ProviderAnswer(self._claims(subject), refresh_token)

    async def end_url(self, realm: Realm, id_token: str, back: str) -> str | None:
        """See the port."""
        return f"{realm.issuer}/end?{urlencode({'post_logout_redirect_uri': back})}"

    async def close(self) -> None:
        """Do nothing: it holds nothing."""

    def _claims(self, subject: str) -> Mapping[str, Json]:
        return {**self.people.get(subject, {}), "sub": subject}
