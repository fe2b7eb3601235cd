"""The gateway's process: dialled, started once, and kept running."""

import asyncio
import fcntl
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio

from atoll.adapters.gateway import process
from atoll.adapters.gateway.process import GatewayProcess
from atoll.adapters.gateway.settings import SshSettings
from atoll.domain.errors import Invalid
from atoll.testing import FakeSshGateway, SshGatewayContract


def gateway_of(home: Path, address: str = "") -> GatewayProcess:
    (home / "run").mkdir(exist_ok=True)
    return GatewayProcess(home, address, home)


async def send_back(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read the first line as a gateway does, then send back what comes."""
    preface = json.loads(await reader.readline())
    assert preface.keys() == {"sandbox", "peer"}
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


class TestProcess(SshGatewayContract):
    @pytest_asyncio.fixture
    async def gateway(self, tmp_path: Path) -> AsyncIterator[GatewayProcess]:
        made = gateway_of(tmp_path)
        server = await asyncio.start_unix_server(send_back, str(tmp_path / "run" / "ssh.sock"))
        async with server:
            yield made

    @pytest.fixture
    def absent(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GatewayProcess:
        monkeypatch.setattr(process, "find_spec", lambda name: None)
        return gateway_of(tmp_path)


class TestFake(SshGatewayContract):
    @pytest.fixture
    def gateway(self) -> FakeSshGateway:
        return FakeSshGateway()

    @pytest.fixture
    def absent(self) -> FakeSshGateway:
        return FakeSshGateway(there=False)


async def test_nobody_is_started_while_one_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two control planes of a home make one gateway."""
    made, started = gateway_of(tmp_path, "127.0.0.1:0"), asyncio.Event()
    monkeypatch.setattr(GatewayProcess, "_start", lambda self: started.set())
    monkeypatch.setattr(process, "WATCH_SECONDS", 0.01)
    lock = os.open(tmp_path / "run" / "ssh.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(made.run())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(started.wait(), 0.2)
        os.close(lock)
        await asyncio.wait_for(started.wait(), 10)
        running.cancel()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", None),
        ("127.0.0.1:2222", ("127.0.0.1", 2222)),
        ("[::1]:0", ("::1", 0)),
    ],
)
def test_addresses_that_are_meant(text: str, place: tuple[str, int] | None) -> None:
    assert SshSettings(text).place() == place


@pytest.mark.parametrize("text", ["2222", "host:", ":22", "host:x", "host:99999", "host:-1"])
def test_addresses_that_cannot_be_meant(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        SshSettings(text)
    assert refused.value.field == "ssh_address"
