import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from atoll.adapters.webhooks.sender import HttpWebhookSender
from atoll.adapters.webhooks.settings import WebhookSettings
from atoll.domain.errors import Forbidden, Invalid, Unavailable
from atoll.domain.webhooks.delivery import Receipt
from atoll.ports.senders.webhooks import WebhookSender
from atoll.testing import FakeWebhookSender, WebhookSenderContract
from tests.peers.receivers.push_service import push_service
from tests.peers.receivers.webhook_receiver import (
    DRIP,
    ENDLESS,
    HANG,
    WebhookReceiver,
    webhook_receiver,
)

LOOPBACK = WebhookSettings(allow_loopback_webhooks=True)
HEADERS = {"webhook-id": "ev_1"}


@pytest.fixture
async def receiver() -> AsyncIterator[WebhookReceiver]:
    async with webhook_receiver() as found:
        yield found


@pytest.fixture
async def sender() -> AsyncIterator[HttpWebhookSender]:
    found = HttpWebhookSender(LOOPBACK, seconds=2)
    yield found
    await found.close()


class TestHttpWebhookSender(WebhookSenderContract):
    @pytest.fixture
    async def sender(self, receiver: WebhookReceiver) -> AsyncIterator[HttpWebhookSender]:
        self.receiver = receiver
        found = HttpWebhookSender(LOOPBACK, seconds=2)
        yield found
        await found.close()

    @pytest.fixture
    def url(self, receiver: WebhookReceiver) -> str:
        return receiver.url

    def scripted(self, sender: WebhookSender, url: str, answer: Receipt | None) -> None:
        self.receiver.statuses.append(HANG if answer is None else answer.status)

    def received(self, sender: WebhookSender, url: str) -> list[tuple[str, bytes]]:
        return [(headers["webhook-id"], body) for headers, body in self.receiver.requests]


class TestFakeWebhookSender(WebhookSenderContract):
    @pytest.fixture
    def sender(self) -> FakeWebhookSender:
        return FakeWebhookSender()

    @pytest.fixture
    def url(self) -> str:
        return "https://hooks.example/in"

    def scripted(self, sender: WebhookSender, url: str, answer: Receipt | None) -> None:
        assert isinstance(sender, FakeWebhookSender)
        sender.answers[url] = [Unavailable("as scripted") if answer is None else answer]

    def received(self, sender: WebhookSender, url: str) -> list[tuple[str, bytes]]:
        assert isinstance(sender, FakeWebhookSender)
        return [(headers["webhook-id"], body) for headers, body in sender.sent.get(url, [])]


async def test_redirect_to_loopback_is_not_followed(
    receiver: WebhookReceiver, sender: HttpWebhookSender
) -> None:
    receiver.statuses.append(307)
    receiver.headers = {"Location": receiver.url.replace("/hook", "/inside")}
    assert (await sender.send(receiver.url, HEADERS, b"{}")).status == 307
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("status", [ENDLESS, DRIP])
async def test_answer_without_end_counts_by_its_status_and_is_not_read_on(
    receiver: WebhookReceiver, sender: HttpWebhookSender, status: int
) -> None:
    receiver.statuses.append(status)
    assert (await sender.send(receiver.url, HEADERS, b"{}")).status == 200
    assert receiver.bytes_written < 16 * 1024 * 1024


async def _answering(head: bytes) -> tuple[asyncio.Server, str]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            while True:
                writer.write(head)
                await writer.drain()
        except OSError:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\nX: y\r\n", b"x" * 65536, b"HTTP/1.1 100 Continue\r\n\r\n"]
)
async def test_head_without_end_is_no_answer(sender: HttpWebhookSender, head: bytes) -> None:
    server, url = await _answering(head)
    async with server:
        with pytest.raises(Unavailable):
            await sender.send(url, HEADERS, b"{}")


async def test_retry_after_is_read_as_seconds_and_nothing_else(
    receiver: WebhookReceiver, sender: HttpWebhookSender
) -> None:
    for text, wait in (("120", timedelta(seconds=120)), ("Wed, 21 Oct 2099", None), ("-1", None)):
        receiver.statuses.append(503)
        receiver.headers = {"Retry-After": text}
        assert await sender.send(receiver.url, HEADERS, b"{}") == Receipt(503, wait)


async def test_request_has_no_cookie_and_follows_no_proxy_of_this_process(
    receiver: WebhookReceiver, sender: HttpWebhookSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    receiver.headers = {"Set-Cookie": "a=b"}
    for _ in range(2):
        await sender.send(receiver.url, HEADERS, b"{}")
    assert all("Cookie" not in headers for headers, _ in receiver.requests)


async def test_loopback_is_refused_without_the_owners_setting(receiver: WebhookReceiver) -> None:
    sender = HttpWebhookSender(WebhookSettings())
    https = receiver.url.replace("http://", "https://")
    for url in (https, https.replace("127.0.0.1", "localhost")):
        for attempt in (sender.check(url), sender.send(url, HEADERS, b"{}")):
            with pytest.raises(Forbidden, match="not a public address"):
                await attempt
    with pytest.raises(Invalid, match="https"):
        await sender.send(receiver.url, HEADERS, b"{}")
    assert receiver.requests == []
    await sender.close()


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "[fd00:ec2::254]", "10.0.0.1", "[::ffff:10.0.0.1]", "0.0.0.0",
     "168.63.129.16", "100.64.0.1", "2130706433", "0x7f000001", "127.1", "localhost"],
)  # fmt: skip
async def test_addresses_inside_are_refused_however_they_are_spelled(host: str) -> None:
    sender = HttpWebhookSender(WebhookSettings())
    with pytest.raises((Forbidden, Unavailable)) as refused:
        await sender.send(f"https://{host}/latest/meta-data", HEADERS, b"{}")
    assert "cannot be reached" not in refused.value.message
    await sender.close()


async def test_plain_http_reaches_no_public_address() -> None:
    sender = HttpWebhookSender(LOOPBACK)
    with pytest.raises(Forbidden, match="use https"):
        await sender.send("http://1.1.1.1/", HEADERS, b"{}")
    await sender.close()


async def test_certificate_of_nobody_is_refused(tmp_path: Path) -> None:
    async with push_service(tmp_path) as service:
        for trust, accepted in ((None, False), (service.trust, True)):
            sender = HttpWebhookSender(LOOPBACK, trust=trust)
            try:
                receipt = await sender.send(f"{service.url}/one", HEADERS, b"{}")
                assert accepted and receipt.status == 410
            except Unavailable as error:
                assert not accepted and "cannot be reached" in error.message
            finally:
                await sender.close()


@pytest.mark.parametrize("text", ["8.8.8.0/24", "0.0.0.0/0", "10.0.0.1/8", "inside", "::/0"])
def test_range_that_is_not_private_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(Invalid, match="webhook_ranges"):
        WebhookSettings(webhook_ranges=(text,))
    WebhookSettings(webhook_ranges=("10.1.0.0/16", "fd00:1::/32"))
