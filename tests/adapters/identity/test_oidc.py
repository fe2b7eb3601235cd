"""The provider over OpenID Connect passes its contract against a real one, and so does the fake."""

from collections.abc import AsyncIterator, Iterator, Mapping
from urllib.parse import parse_qs, urlsplit

import pytest

from atoll.adapters.clocks.system import SystemClock
from atoll.adapters.identity.client_secrets import read_secrets
from atoll.adapters.identity.oidc import OidcProvider
from atoll.adapters.identity.provider_http import Answer, ProviderHttp
from atoll.domain.errors import Failed
from atoll.domain.people.realm import Realm
from atoll.ports.outside.identity import IdentityProvider
from atoll.testing import FakeIdentityProvider, IdentityProviderContract
from tests.peers.identity.oidc_provider import OidcProcess, oidc_provider


@pytest.fixture(scope="module")
def process() -> Iterator[OidcProcess]:
    with oidc_provider({"sub": "ada", "name": "Ada"}) as found:
        yield found


class TestOidcProvider(IdentityProviderContract):
    """The adapter, against a process."""

    @pytest.fixture(autouse=True)
    def _process(self, process: OidcProcess) -> None:
        self.process = process

    @pytest.fixture
    def realm(self, process: OidcProcess) -> Realm:
        return Realm("corp", process.issuer, "atoll")

    @pytest.fixture
    async def provider(self) -> AsyncIterator[OidcProvider]:
        made = OidcProvider(SystemClock(), {"corp": "s3cret"}, ProviderHttp())
        yield made
        await made.close()

    def confirm(self, provider: IdentityProvider, url: str, subject: str) -> str:
        return parse_qs(urlsplit(self.process.confirm(url, subject)).query)["code"][0]

    def revoke(self, provider: IdentityProvider, subject: str) -> None:
        self.process.revoke(subject)


class TestFakeIdentityProvider(IdentityProviderContract):
    """The fake."""

    @pytest.fixture
    def realm(self) -> Realm:
        return Realm("corp", "https://id.example", "atoll")

    @pytest.fixture
    def provider(self) -> FakeIdentityProvider:
        return FakeIdentityProvider({"ada": {"name": "Ada"}})

    def confirm(self, provider: IdentityProvider, url: str, subject: str) -> str:
        assert isinstance(provider, FakeIdentityProvider)
        return provider.confirm(url, subject)

    def revoke(self, provider: IdentityProvider, subject: str) -> None:
        assert isinstance(provider, FakeIdentityProvider)
        provider.revoke(subject)


class Rotating(ProviderHttp):
    """A provider that renews each refresh token, and whose other endpoints say 503."""

    async def get(self, realm: Realm, url: str, bearer: str = "") -> Answer:
        if not url.endswith("openid-configuration"):
            return Answer(503, {})
        named = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
        return Answer(
            200, {"issuer": realm.issuer, **{one: f"{realm.issuer}/{one}" for one in named}}
        )

    async def post(self, realm: Realm, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        return Answer(200, {"access_token": "a", "refresh_token": "second", "id_token": "x"})


async def test_renewed_token_is_returned_by_a_provider_that_cannot_say_whose_it_is() -> None:
    made = OidcProvider(SystemClock(), {"corp": "s3cret"}, Rotating())
    answer = await made.refresh(Realm("corp", "https://id.example", "atoll"), "first", "ada")
    assert (answer.refresh_token, answer.claims) == ("second", {})


def test_secrets_come_from_files_and_variables(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("secrets") / "one"
    file.write_text("from a file\n")
    issuer = "https://id.example"
    realms = {
        "a": Realm("a", issuer, "c", client_secret_file=str(file)),
        "b": Realm("b", issuer, "c", client_secret_env="SECRET_B"),
        "c": Realm("c", issuer, "c"),
    }
    assert read_secrets(realms, {"SECRET_B": "from a variable"}) == {
        "a": "from a file",
        "b": "from a variable",
    }
    for text in ("", "\x00", "x" * 5000):
        file.write_text(text)
        with pytest.raises(Failed):
            read_secrets({"a": realms["a"]}, {})
    with pytest.raises(Failed):
        read_secrets({"b": realms["b"]}, {})
