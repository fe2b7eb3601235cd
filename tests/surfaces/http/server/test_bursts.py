"""Bursts of whole requests: each is answered, and each client is bounded for itself."""

import asyncio
from ipaddress import ip_network

import pytest

from atoll.surfaces.http.server.connections import pending_connections
from atoll.surfaces.http.server.connections.proxies import TrustedProxies
from tests.surfaces.http.world import World, client_of, world

HERE = TrustedProxies((ip_network("127.0.0.0/8"), ip_network("10.0.0.0/8")))


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have connections of this machine count as those of another."""
    monkeypatch.setattr(pending_connections, "_is_near", lambda _: False)


async def _burst(atoll: World, count: int, *heads: str) -> list[bytes]:
    """Send whole requests of `count` connections at once; return the first lines of the answers,
    empty where there was none."""
    lines = (
        "GET /v1/sandboxes HTTP/1.1",
        f"Host: {atoll.host}",
        f"Authorization: Bearer {atoll.token}",
        "Connection: close",
        *heads,
    )
    request = ("\r\n".join(lines) + "\r\n\r\n").encode()
    host, _, port = atoll.host.partition(":")

    async def one() -> bytes:
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request)
            answer = await reader.read()
            writer.close()
        except ConnectionError:
            return b""
        head, _, _ = answer.partition(b"\r\n\r\n")
        assert not head or b"\r\n" in head
        return head

    return await asyncio.gather(*(one() for _ in range(count)))


def _statuses(heads: list[bytes]) -> set[bytes]:
    return {head.partition(b"\r\n")[0].partition(b" ")[2][:3] for head in heads}


async def test_burst_of_this_machine_is_answered() -> None:
    async with world() as atoll:
        assert _statuses(await _burst(atoll, 400)) == {b"200"}


@pytest.mark.usefixtures("far")
async def test_burst_from_one_far_address_is_answered() -> None:
    async with world() as atoll:
        assert _statuses(await _burst(atoll, 100)) == {b"200"}


@pytest.mark.usefixtures("far")
async def test_request_past_the_bound_is_told_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending_connections, "MAX_ANSWERED_OF_CLIENT", 3)
    async with world() as atoll:
        heads = await _burst(atoll, 60)
        assert _statuses(heads) == {b"200", b"503"}
        busy = [head.lower() for head in heads if b" 503 " in head]
        assert all(b"retry-after: 1" in head and b"connection: close" in head for head in busy)


async def test_clients_of_a_proxy_are_bounded_each_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pending_connections, "MAX_ANSWERED_OF_CLIENT", 3)
    async with world(proxies=HERE) as atoll:
        many = _burst(atoll, 60, "X-Forwarded-For: 203.0.113.9, 198.51.100.1")
        one = _burst(atoll, 1, "X-Forwarded-For: 198.51.100.2, 10.0.0.8")
        assert _statuses(await many) == {b"200", b"503"}
        assert _statuses(await one) == {b"200"}


@pytest.mark.parametrize(
    ("proxies", "sent", "address"),
    [
        (HERE, "198.51.100.7", "198.51.100.7"),
        (HERE, "203.0.113.1, 198.51.100.7, 10.0.0.8", "198.51.100.7"),
        (HERE, "2001:db8::1", "2001:db8::1"),
        (HERE, "nonsense", "127.0.0.1"),
        (TrustedProxies(), "198.51.100.7", "127.0.0.1"),
        (TrustedProxies((ip_network("10.0.0.0/8"),)), "198.51.100.7", "127.0.0.1"),
    ],
)
async def test_client_is_whom_a_trusted_proxy_names(
    proxies: TrustedProxies, sent: str, address: str
) -> None:
    async with world(proxies=proxies) as atoll:
        headers = {**await atoll.browser(), "Origin": atoll.url}
        async with client_of(atoll.url) as line, client_of(atoll.url) as page:
            told = {"X-Forwarded-For": sent}
            for _ in range(2):  # a connection that is used again names its client again
                begun = await line.post("/auth/cli", json={"machine": "laptop"}, headers=told)
                shown = await page.get(f"/auth/cli/{begun.json()['code']}", headers=headers)
                assert shown.json()["address"] == address
