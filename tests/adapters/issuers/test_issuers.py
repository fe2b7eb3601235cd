"""OpenAI's issuer and one of RFC 8628 pass the contract on loopback, and so does the fake."""

import socket
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from atoll.adapters.addresses import Reach
from atoll.adapters.clocks import SystemClock
from atoll.adapters.issuers.client import IssuerClient
from atoll.adapters.issuers.device_grant import DeviceGrantIssuer
from atoll.adapters.issuers.http import MAX_BYTES, IssuerHttp
from atoll.adapters.issuers.openai import OpenAIIssuer
from atoll.adapters.issuers.tokens import claims_of
from atoll.domain.errors import Forbidden, Unavailable
from atoll.domain.logins.agent_login import (
    CodeExpired,
    Denied,
    LoginRefused,
    PollUnanswered,
    SlowDown,
    StillPending,
)
from atoll.domain.logins.redirect import read_redirect
from atoll.ports.outside.issuer import AgentIssuer, DeviceCode, IssuerBusy, LoginTokens
from atoll.testing import AgentIssuerContract, FakeAgentIssuer
from atoll.testing.contracts.outside.issuer import BEGUN
from tests.peers.issuers.login_issuer import ACCOUNT, CLIENT, Issuer, login_issuer, unsigned
from tests.peers.raw_upstream import raw_peer

LOOPBACK = Reach(loopback=True)


@pytest.fixture
async def served() -> AsyncIterator[Issuer]:
    async with login_issuer() as made:
        yield made


@pytest.fixture
async def http() -> AsyncIterator[IssuerHttp]:
    made = IssuerHttp(LOOPBACK, seconds=2)
    yield made
    await made.close()


@pytest.fixture
def openai(served: Issuer, http: IssuerHttp) -> OpenAIIssuer:
    return OpenAIIssuer(IssuerClient(served.url, CLIENT), http, SystemClock())


@pytest.fixture
def standard(served: Issuer, http: IssuerHttp) -> DeviceGrantIssuer:
    client = IssuerClient(served.url, CLIENT, ("openid", "offline"))
    return DeviceGrantIssuer(client, http, SystemClock())


class BesideIssuer:
    """What people do at the issuer on loopback."""

    @pytest.fixture(autouse=True)
    def _served(self, served: Issuer) -> None:
        self.served = served

    def confirm(self, issuer: AgentIssuer, device: DeviceCode) -> None:
        self.served.confirm(device.user_code)

    def refuse(self, issuer: AgentIssuer, device: DeviceCode) -> None:
        self.served.confirm(device.user_code, "denied")

    def log_in(self, issuer: AgentIssuer, url: str) -> str:
        return self.served.confirm_page(url)

    def lose_answer(self, issuer: AgentIssuer) -> None:
        self.served.statuses.append(0)

    def turn_away(self, issuer: AgentIssuer) -> None:
        self.served.statuses.append(429)


class TestOpenAIIssuer(BesideIssuer, AgentIssuerContract):
    """OpenAI's flow."""

    @pytest.fixture
    def issuer(self, openai: OpenAIIssuer) -> OpenAIIssuer:
        return openai


class TestDeviceGrantIssuer(BesideIssuer, AgentIssuerContract):
    """RFC 8628."""

    @pytest.fixture
    def issuer(self, standard: DeviceGrantIssuer) -> DeviceGrantIssuer:
        return standard


class TestFakeAgentIssuer(AgentIssuerContract):
    """The fake."""

    @pytest.fixture
    def issuer(self) -> FakeAgentIssuer:
        self.fake = FakeAgentIssuer()
        return self.fake

    def confirm(self, issuer: AgentIssuer, device: DeviceCode) -> None:
        self.fake.confirm(device)

    def refuse(self, issuer: AgentIssuer, device: DeviceCode) -> None:
        self.fake.confirm(device, Denied())

    def log_in(self, issuer: AgentIssuer, url: str) -> str:
        return self.fake.log_in(url)

    def lose_answer(self, issuer: AgentIssuer) -> None:
        self.fake.lost = True

    def turn_away(self, issuer: AgentIssuer) -> None:
        self.fake.failure = IssuerBusy("Try again.")


async def logged_in(issuer: AgentIssuer, served: Issuer) -> LoginTokens:
    device = await issuer.begin()
    served.confirm(device.user_code)
    found = await issuer.poll(device)
    assert isinstance(found, LoginTokens)
    return found


async def test_openai_names_page_account_and_interval(openai: OpenAIIssuer, served: Issuer) -> None:
    device = await openai.begin()
    assert device.page == f"{served.url}/codex/device" and device.life is None
    assert device.interval == timedelta(seconds=5)
    assert (await logged_in(openai, served)).account == ACCOUNT


async def test_life_is_read_from_the_token_where_the_answer_names_none(
    openai: OpenAIIssuer, served: Issuer
) -> None:
    served.says_life, served.life = False, 100
    assert timedelta(seconds=90) < (await logged_in(openai, served)).life <= timedelta(seconds=100)
    served.life = -100
    assert (await logged_in(openai, served)).life == timedelta(seconds=1)


@pytest.mark.parametrize(
    ("state", "verdict"),
    [("hurried", SlowDown()), ("denied", Denied()), ("expired", CodeExpired())],
)
async def test_standard_errors_are_told_apart(
    standard: DeviceGrantIssuer, served: Issuer, state: str, verdict: object
) -> None:
    device = await standard.begin()
    served.confirm(device.user_code, state)
    assert await standard.poll(device) == verdict


async def test_scopes_are_those_asked_for_where_the_answer_names_none(
    standard: DeviceGrantIssuer, served: Issuer
) -> None:
    assert (await logged_in(standard, served)).scopes == ("openid", "offline")


async def test_code_spied_out_by_another_is_worth_nothing(
    openai: OpenAIIssuer, served: Issuer
) -> None:
    """A code that is replayed ends the login that it gave, too."""
    code = read_redirect(served.confirm_page(openai.page_of(BEGUN)), BEGUN)
    tokens = await openai.trade(BEGUN, code)
    with pytest.raises(Forbidden):
        await openai.trade(BEGUN, code)
    with pytest.raises(Forbidden):
        await openai.refresh(tokens.refresh_token)
    assert served.reused == 1


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408, 302, 404, 401])
async def test_answer_that_says_nothing_of_a_token_says_not_now(
    openai: OpenAIIssuer, standard: DeviceGrantIssuer, served: Issuer, status: int
) -> None:
    served.retry_after = "7"
    for issuer in (openai, standard):
        tokens = await logged_in(issuer, served)
        served.statuses.append(status)
        with pytest.raises(IssuerBusy) as busy:
            await issuer.refresh(tokens.refresh_token)
        assert busy.value.code == "issuer_busy" and busy.value.after == timedelta(seconds=7)
        assert await issuer.refresh(tokens.refresh_token)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, "invalid_grant"),
        (200, "bad_refresh_token"),
        (401, {"code": "refresh_token_reused", "message": "log in again"}),
    ],
)
async def test_error_of_the_grant_is_a_refusal(
    openai: OpenAIIssuer, served: Issuer, status: int, error: object
) -> None:
    tokens = await logged_in(openai, served)
    served.statuses.append(status)
    served.error = error
    with pytest.raises(Forbidden) as refused:
        await openai.refresh(tokens.refresh_token)
    assert refused.value.code == "issuer_refused"


async def test_confirmed_login_is_traded_at_an_issuer_that_is_busy_for_a_moment(
    openai: OpenAIIssuer, served: Issuer
) -> None:
    device = await openai.begin()
    served.confirm(device.user_code)
    served.statuses.append(503)
    assert isinstance(await openai.poll(device), LoginTokens)


async def test_confirmed_login_whose_trade_is_lost_is_lost(
    openai: OpenAIIssuer, served: Issuer
) -> None:
    device = await openai.begin()
    served.confirm(device.user_code)
    served.statuses.append(0)
    with pytest.raises(Unavailable) as lost:
        await openai.poll(device)
    assert lost.value.code == "answer_lost"


async def test_issuer_that_is_away_has_used_nothing_up(http: IssuerHttp) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        client = IssuerClient(f"http://127.0.0.1:{taken.getsockname()[1]}", CLIENT)
        for made in (
            OpenAIIssuer(client, http, SystemClock()),
            DeviceGrantIssuer(client, http, SystemClock()),
        ):
            with pytest.raises(Unavailable) as away:
                await made.refresh("rt-unknown")
            assert away.value.code == "not_sent"
            device = DeviceCode("d", "U", "https://x.example")
            assert await made.poll(device) == PollUnanswered()


async def test_address_that_may_not_be_dialled_gets_nothing(served: Issuer) -> None:
    http = IssuerHttp(Reach())
    made = OpenAIIssuer(IssuerClient(served.url, CLIENT), http, SystemClock())
    with pytest.raises(Unavailable) as refused:
        await made.refresh("rt-unknown")
    assert refused.value.code == "not_sent"
    await http.close()


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"access_token":"a b","refresh_token":"c"}', b"x" * (MAX_BYTES + 1)],
)
async def test_answer_that_cannot_be_read_is_lost(http: IssuerHttp, body: bytes) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with raw_peer(head + body) as peer:
        made = OpenAIIssuer(
            IssuerClient(f"http://127.0.0.1:{peer.port}", CLIENT), http, SystemClock()
        )
        with pytest.raises(Unavailable) as lost:
            await made.refresh("rt-unknown")
        assert lost.value.code == "answer_lost"
        with pytest.raises(Unavailable):
            await made.begin()


async def test_pending_is_told_from_refused(openai: OpenAIIssuer, served: Issuer) -> None:
    device = await openai.begin()
    assert await openai.poll(device) == StillPending()
    served.confirm(device.user_code, "denied")
    assert isinstance(await openai.poll(device), LoginRefused)


@pytest.mark.parametrize("issuer", ["http://id.example", "ftp://x", "https://x?a=b", ""])
def test_issuer_without_encryption_is_refused(issuer: str) -> None:
    with pytest.raises(ValueError, match="issuer"):
        IssuerClient(issuer, CLIENT)


@pytest.mark.parametrize("token", ["", "a.b", "a.!.c", "a.W10.c", "a.e30.c.d", "a.eyJ4.c"])
def test_other_text_has_no_claims(token: str) -> None:
    assert claims_of(token) == {}


def test_claims_are_those_of_the_token() -> None:
    assert claims_of(unsigned({"sub": "ada"})) == {"sub": "ada"}
