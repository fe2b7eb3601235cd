import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.wiring.doctor import exchange
from tests.peers.nats.server import NatsServer, nats_server


@pytest.fixture(scope="module")
def server() -> Iterator[NatsServer]:
    with nats_server() as one:
        yield one


def told(home: Path, **settings: str) -> list[tuple[str, str, str]]:
    lines = (f'{name} = "{value}"\n' for name, value in settings.items())
    (home / "config.toml").write_text("".join(lines))
    return [(one.name, one.level, one.text) for one in exchange.findings(home)]


def test_bus_that_is_not_configured_is_not_mentioned(tmp_path: Path) -> None:
    assert told(tmp_path) == []
    assert told(tmp_path, bus_url="http://a") == [], "the settings' own line says it"


def test_bus_is_shown_with_its_stream_and_without_its_password(
    tmp_path: Path, server: NatsServer
) -> None:
    url = server.url.replace("//", "//user:s3cret@")
    ((name, level, text),) = told(tmp_path, bus_url=url, bus_prefix="doctor")
    assert (name, level) == ("bus", "ok")
    assert text.startswith(f"{server.url}: NATS 2.") and "s3cret" not in text
    assert text.endswith("without TLS; there is no stream DOCTOR_EVENTS yet")


def test_bus_that_is_not_reached_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    ((name, level, text),) = told(tmp_path, bus_url="nats://127.0.0.1:1")
    assert (name, level) == ("bus", "fail") and "refused" in text


def test_server_elsewhere_without_tls_is_warned_of(
    tmp_path: Path, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(_own: object) -> str:
        return "there"

    monkeypatch.setattr(exchange, "_look", look)
    found = told(tmp_path, bus_url="nats://nats.example.com")
    assert [one[:2] for one in found] == [("bus", "ok"), ("bus encryption", "warn")]
    assert "nats.example.com in the clear" in found[1][2]


def test_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "atoll.adapters.bus.jetstream", None)
    ((name, level, _text),) = told(tmp_path, bus_url="nats://127.0.0.1")
    assert (name, level) == ("bus", "fail")
