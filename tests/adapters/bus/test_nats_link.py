"""What the connection proves and protects: TLS, users, credentials, and what its words hold."""

import asyncio
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import nkeys
import pytest

from atoll.adapters.bus.jetstream import JetStreamSink
from atoll.adapters.bus.nats_link import NatsLink
from atoll.adapters.bus.settings import BusSettings
from atoll.domain.errors import AtollError, Failed, Invalid, Unavailable
from tests.peers.certificate import own_certificate
from tests.peers.nats.credentials import operator_mode
from tests.peers.nats.server import connected, nats_server

PASSWORD = "s3cret-Pa55"


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


async def why_not(settings: BusSettings) -> AtollError:
    """Return what a connection fails with."""
    with pytest.raises((Unavailable, Failed)) as refused:
        await NatsLink(settings).open()
    assert PASSWORD not in refused.value.message
    return refused.value


async def test_tls_with_the_right_authority_connects_and_with_another_does_not(
    folder: Path,
) -> None:
    cert, key = own_certificate(folder, "127.0.0.1")
    (folder / "other").mkdir()
    other, _key = own_certificate(folder / "other", "127.0.0.1")
    with nats_server("--tls", "--tlscert", str(cert), "--tlskey", str(key)) as server:
        for url in (server.url, server.url.replace("nats:", "tls:")):
            async with connected(BusSettings(bus_url=url, bus_tls_ca=str(cert))):
                pass
        for ca in (str(other), None):
            settings = BusSettings(bus_url=server.url.replace("nats:", "tls:"), bus_tls_ca=ca)
            assert "certificate" in (await why_not(settings)).message.lower()


async def test_client_certificate_is_shown_to_a_server_that_asks(folder: Path) -> None:
    cert, key = own_certificate(folder, "127.0.0.1")
    files = ("--tls", "--tlscert", str(cert), "--tlskey", str(key))
    with nats_server(*files, "--tlsverify", "--tlscacert", str(cert)) as server:
        await why_not(BusSettings(bus_url=server.url, bus_tls_ca=str(cert)))
        async with connected(
            BusSettings(
                bus_url=server.url,
                bus_tls_ca=str(cert),
                bus_tls_cert=str(cert),
                bus_tls_key=str(key),
            )
        ):
            pass


@asynccontextmanager
async def stripped() -> AsyncIterator[tuple[int, bytearray]]:
    """A server, or somebody on the way, that offers no TLS; yields what it is sent."""
    sent = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.15.0","max_payload":1048576}\r\n')
        while data := await reader.read(4096):
            sent.extend(data)
            writer.write(b"PONG\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], sent


@pytest.mark.parametrize("scheme", ["tls", "nats"])
async def test_password_is_not_sent_where_tls_is_required_and_not_offered(
    folder: Path, scheme: str
) -> None:
    ca = None if scheme == "tls" else str(own_certificate(folder, "127.0.0.1")[0])
    async with stripped() as (port, sent):
        url = f"{scheme}://atoll:{PASSWORD}@127.0.0.1:{port}"
        error = await why_not(BusSettings(bus_url=url, bus_tls_ca=ca))
        assert "offers no TLS" in error.message and not sent


async def test_wrong_password_is_said_and_the_right_one_connects(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with nats_server("--user", "atoll", "--pass", PASSWORD) as server:
        where = f"127.0.0.1:{server.port}"
        for user in ("", f"atoll:not{PASSWORD}@"):
            # A server that closes before it read the last PING resets, which takes its words away.
            said = ""
            while "Authorization Violation" not in said:
                said = (await why_not(BusSettings(bus_url=f"nats://{user}{where}"))).message
        right = BusSettings(bus_url=f"nats://atoll:{PASSWORD}@{where}")
        async with connected(right):
            pass
        assert right.shown == f"nats://{where}" and PASSWORD not in repr(right)
    assert PASSWORD not in caplog.text + capsys.readouterr().out


async def test_file_with_a_key_proves_who_connects(folder: Path) -> None:
    key = nkeys.from_seed(bytearray(SEED))
    (folder / "seed").write_bytes(SEED)
    user = f"{{ nkey: {key.public_key.decode()} }}"
    (folder / "conf").write_text(f"authorization {{ users: [{user}] }}")
    with nats_server("--config", str(folder / "conf")) as server:
        await why_not(BusSettings(bus_url=server.url))
        settings = BusSettings(bus_url=server.url, bus_credentials=str(folder / "seed"))
        async with connected(settings):
            pass


SEED = b"SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU"


async def test_credentials_file_of_an_account_connects_and_reaches_jetstream(
    folder: Path,
) -> None:
    config, credentials = operator_mode(folder)
    with nats_server("--config", str(config)) as server:
        await why_not(BusSettings(bus_url=server.url))
        settings = BusSettings(bus_url=server.url, bus_credentials=str(credentials))
        async with connected(settings) as (_bus, link):
            assert (await JetStreamSink(link, settings).tip()).sequence == 0


async def test_file_that_is_missing_or_no_certificate_is_said_without_its_path(
    folder: Path,
) -> None:
    (folder / "bad").write_text("no certificate")
    url = "tls://127.0.0.1:1"
    for settings in (
        BusSettings(bus_url=url, bus_tls_ca=str(folder / "missing")),
        BusSettings(bus_url=url, bus_tls_ca=str(folder / "bad")),
        BusSettings(bus_url=url, bus_credentials=str(folder / "missing")),
    ):
        error = await why_not(settings)
        assert "is no use" in error.message and str(folder) not in error.message


@pytest.mark.parametrize(
    "url",
    [
        *("", ",", "localhost:4222", "http://a:4222", "ws://a", "nats://", "nats://a:0"),
        *("nats://a:99999", "nats://a:x", "nats://a/b", "nats://a?x=1", "nats://a,", "nats://a\n"),
        ",".join(["nats://a"] * 17),
    ],
)
def test_address_that_cannot_be_meant_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(Invalid, match="bus_url is nats://host:4222"):
        BusSettings(bus_url=url)


@pytest.mark.parametrize("prefix", ["", "a b", "a.", ".a", "a.*", ">", "a..b", "a.b.c.d.e", "ä"])
def test_prefix_that_is_no_subject_is_refused(prefix: str) -> None:
    with pytest.raises(Invalid, match="bus_prefix"):
        BusSettings(bus_prefix=prefix)


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(Invalid, match="go together"):
        BusSettings(bus_tls_cert="/c.pem")
    with pytest.raises(Invalid, match="longer than bus_days"):
        BusSettings(bus_days=1, bus_window_seconds=86401)


def test_hosts_elsewhere_without_tls_are_named() -> None:
    url = "nats://u:p@nats.example.com:4222, nats://127.0.0.1, nats://[::1]:4222"
    settings = BusSettings(bus_url=url, bus_prefix="acme.prod")
    assert settings.open_hosts == ("nats.example.com",)
    assert settings.shown == "nats://nats.example.com:4222, nats://127.0.0.1, nats://[::1]:4222"
    assert settings.stream == "ACME_PROD_EVENTS"
    assert BusSettings(bus_url="tls://nats.example.com").open_hosts == ()
