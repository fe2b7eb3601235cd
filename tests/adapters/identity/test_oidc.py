"""The provider over OpenID Connect passes its contract against a real one, and so does the fake."""

from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from atoll.adapters.clocks import SystemClock
from atoll.adapters.identity.client_secrets import read_secrets
from atoll.adapters.identity.oidc import OidcProvider
from atoll.adapters.identity.provider_http import Answer, ProviderHttp
from atoll.domain.errors import Failed, Unavailable
from atoll.domain.event import Json
from atoll.domain.people.realm import Realm
from atoll.ports.outside.identity import IdentityProvider, ProviderBusy
from atoll.testing import FakeIdentityProvider, IdentityProviderContract, VirtualClock
from atoll.testing.contracts.outside.identity import BEGUN
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


class InFront(ProviderHttp):
    """A provider behind something that answers in its place: what is in `instead`, by the end of
    the address."""

    def __init__(self, **instead: Answer) -> None:
        super().__init__()
        self.instead = instead
        self.asked: list[str] = []

    async def get(self, realm: Realm, url: str, bearer: str = "") -> Answer:
        return self._answer(realm, url.rpartition("/")[2])

    async def post(self, realm: Realm, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        return self._answer(realm, url.rpartition("/")[2])

    def _answer(self, realm: Realm, name: str) -> Answer:
        self.asked.append(name)
        named = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
        places = {one: f"{realm.issuer}/{one}" for one in named}
        usual: dict[str, Mapping[str, Json]] = {
            "openid-configuration": {"issuer": realm.issuer, **places},
            "token_endpoint": {"access_token": "a", "refresh_token": "second"},
            "userinfo_endpoint": {"sub": "ada", "roles": ["atoll-admin"]},
        }
        instead = self.instead.get(name.replace("-", "_"))
        return instead or Answer(200, usual[name])


CORP = Realm("corp", "https://id.example", "atoll")
BUSY = Answer(503, {}, timedelta(minutes=2))
PAGE = Answer(200, {})
"""The page of something in front of the provider, which is no object."""


def behind(**instead: Answer) -> OidcProvider:
    return OidcProvider(VirtualClock(), {"corp": "s3cret"}, InFront(**instead))


@pytest.mark.parametrize(
    ("answer", "after"), [(BUSY, BUSY.after), (Answer(503, {}), None), (PAGE, None)]
)
async def test_provider_that_cannot_refresh_now_is_busy_for_as_long_as_it_says(
    answer: Answer, after: timedelta | None
) -> None:
    made = behind(token_endpoint=answer)
    with pytest.raises(ProviderBusy) as busy:
        await made.refresh(CORP, "first", "ada")
    assert busy.value.after == after


@pytest.mark.parametrize("answer", [BUSY, PAGE])
async def test_claims_that_nobody_gives_are_none(answer: Answer) -> None:
    """Not those of somebody without a role, who would lose every membership."""
    made = behind(userinfo_endpoint=answer)
    found = await made.refresh(CORP, "first", "ada")
    assert (found.claims, found.refresh_token, found.after) == ({}, "second", answer.after)


async def test_token_that_is_not_proven_gives_no_claims_and_the_next_one_stays() -> None:
    token = {"access_token": "a", "refresh_token": "second", "id_token": "forged"}
    made = behind(token_endpoint=Answer(200, token), jwks_uri=Answer(200, {"keys": []}))
    found = await made.refresh(CORP, "first", "ada")
    assert (found.claims, found.refresh_token) == ({}, "second")


async def test_login_that_a_provider_cannot_finish_now_is_not_refused() -> None:
    made = behind(token_endpoint=BUSY)
    with pytest.raises(ProviderBusy, match="logs nobody in now"):
        await made.finish(CORP, BEGUN, "code")


async def test_discovery_waits_as_a_provider_asks_and_a_minute_at_most() -> None:
    for asked, least in ((timedelta(seconds=30), 30), (timedelta(hours=1), 60), (None, 3)):
        clock, http = VirtualClock(), InFront(openid_configuration=Answer(503, {}, asked))
        made = OidcProvider(clock, {"corp": "s3cret"}, http)
        for seconds in (0, least - 1, 1):
            clock.turn(seconds)
            with pytest.raises(Unavailable):
                await made.begin(CORP, BEGUN)
        assert len(http.asked) == 2


async def test_answer_says_how_long_to_wait() -> None:
    async def busy(_request: web.Request) -> web.Response:
        return web.Response(status=503, headers={"Retry-After": "120"}, text="Not now.")

    app = web.Application()
    app.router.add_get("/", busy)
    async with TestServer(app) as server:
        realm = Realm("corp", str(server.make_url("/")).rstrip("/"), "atoll")
        http = ProviderHttp()
        assert await http.get(realm, realm.issuer) == Answer(503, {}, timedelta(minutes=2))
        await http.close()


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
