"""The contract of an IdentityProvider: logins at a provider that speaks OpenID Connect.

Subclass `IdentityProviderContract` in a test module and give it the fixtures `provider` and
`realm`. Implement `confirm` and `revoke`, which do what a person does at the provider.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from atoll.domain.errors import Forbidden, Unauthenticated
from atoll.domain.people.person import PendingLogin
from atoll.domain.people.realm import Realm
from atoll.ports.outside.identity import IdentityProvider
from atoll.testing.samples import NOW

BEGUN = PendingLogin(
    "corp",
    "s" * 43,
    "n" * 43,
    "v" * 43,
    "http://127.0.0.1:1/auth/oidc/corp/callback",
    "",
    NOW + timedelta(minutes=10),
)


class IdentityProviderContract(ABC):
    """Contract of providers: a login gives the claims of its person, once."""

    @abstractmethod
    def confirm(self, provider: IdentityProvider, url: str, subject: str) -> str:
        """Log a person in at `url`; return the code that the browser is sent back with."""

    @abstractmethod
    def revoke(self, provider: IdentityProvider, subject: str) -> None:
        """End a person's logins at the provider."""

    async def test_address_names_the_login_and_no_secret(
        self, provider: IdentityProvider, realm: Realm
    ) -> None:
        url = await provider.begin(realm, BEGUN)
        asked = parse_qs(urlsplit(url).query)
        assert asked["state"] == [BEGUN.state] and asked["nonce"] == [BEGUN.nonce]
        assert asked["redirect_uri"] == [BEGUN.redirect_uri]
        assert asked["code_challenge_method"] == ["S256"]
        assert BEGUN.verifier not in url

    async def test_code_gives_the_claims_once(
        self, provider: IdentityProvider, realm: Realm
    ) -> None:
        code = self.confirm(provider, await provider.begin(realm, BEGUN), "ada")
        answer = await provider.finish(realm, BEGUN, code)
        assert answer.claims["sub"] == "ada"
        with pytest.raises(Unauthenticated):
            await provider.finish(realm, BEGUN, code)

    async def test_claims_of_another_login_are_refused(
        self, provider: IdentityProvider, realm: Realm
    ) -> None:
        code = self.confirm(provider, await provider.begin(realm, BEGUN), "ada")
        with pytest.raises(Unauthenticated):
            await provider.finish(realm, replace(BEGUN, nonce="m" * 43), code)

    async def test_claims_are_read_again_until_the_login_is_revoked(
        self, provider: IdentityProvider, realm: Realm
    ) -> None:
        code = self.confirm(provider, await provider.begin(realm, BEGUN), "ada")
        answer = await provider.finish(realm, BEGUN, code)
        again = await provider.refresh(realm, answer.refresh_token, "ada")
        assert again.claims["sub"] == "ada"
        self.revoke(provider, "ada")
        with pytest.raises(Forbidden) as refused:
            await provider.refresh(realm, again.refresh_token or answer.refresh_token, "ada")
        assert refused.value.code == "grant_revoked"

    async def test_end_leads_back(self, provider: IdentityProvider, realm: Realm) -> None:
        url = await provider.end_url(realm, "", "http://127.0.0.1:1/")
        assert url is not None
        assert parse_qs(urlsplit(url).query)["post_logout_redirect_uri"] == ["http://127.0.0.1:1/"]
