"""How soon a link is opened again after it was cut."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import structlog

from atoll.adapters.linked import carriers as module
from atoll.adapters.linked.carriers import CarriedLink, Carriers
from atoll.domain.errors import Unavailable
from atoll.domain.ids import SandboxId
from atoll.ports.far import FarBox, MachineLost
from atoll.wire.link.handshake import Hello

BOX = FarBox(SandboxId("sb_aaaaaaaaaaaaaaaa"), 1)
HELLO = Hello(1, b"n" * 16).encode()
FIRST, LONGEST = 0.01, 0.08


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE_SECONDS", FIRST)
    monkeypatch.setattr(module, "LONGEST_PAUSE_SECONDS", LONGEST)
    monkeypatch.setattr(module, "STEADY_SECONDS", 0.03)


async def _answer_elsewhere(near: socket.socket) -> None:
    """Answer as a far end in another process does, until cancelled."""
    client = await asyncio.create_subprocess_exec(
        *("sh", "-c", "head -c 4 >/dev/null; printf atlk; exec cat >/dev/null"),
        stdin=near.fileno(),
        stdout=near.fileno(),
    )
    try:
        await client.wait()
    finally:
        if client.returncode is None:
            client.kill()
            await client.wait()


async def test_trouble_is_over_as_soon_as_the_machine_says_something(tmp_path: Path) -> None:
    """Also where another process carries the stream, as an SSH client does."""
    tried, comes = asyncio.Event(), asyncio.Event()

    async def carry(_box: FarBox, near: socket.socket) -> None:
        if not tried.is_set():
            tried.set()
            raise Unavailable("host far cannot be reached")
        await comes.wait()
        await _answer_elsewhere(near)

    heard, greeted = asyncio.Event(), asyncio.Event()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO)
        greeted.set()
        if await reader.read(4) == b"atlk":
            heard.set()
        writer.close()

    async def note(_box: FarBox, _reason: str) -> None:
        return

    server = await asyncio.start_unix_server(greet, tmp_path / "near.sock")
    carried = Carriers(carry, tmp_path / "locks", note)
    carried.begin(CarriedLink(BOX, str(tmp_path / "near.sock")))
    async with asyncio.timeout(10):
        await tried.wait()
        greeted.clear()
        await greeted.wait()
        for _ in range(3):
            await asyncio.sleep(0)  # it tries again
            assert carried.trouble(BOX.sandbox_id) == "host far cannot be reached"
        comes.set()
        await heard.wait()
        for _ in range(3):
            await asyncio.sleep(0)  # the reading made room, which the loop learns of next
        assert carried.trouble(BOX.sandbox_id) is None
    await carried.close()
    server.close()


async def pauses_of(
    folder: Path, tries: int, act: Callable[[socket.socket], Awaitable[None]]
) -> list[float]:
    """Return the pauses after the streams of one link, which `act` carries."""
    left = iter(range(tries))
    lost = asyncio.Event()

    async def carry(_box: FarBox, near: socket.socket) -> None:
        if next(left, None) is None:
            raise MachineLost("enough")
        await act(near)

    async def note(_box: FarBox, _reason: str) -> None:
        lost.set()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO)
        await reader.read()
        writer.close()

    path = folder / "near.sock"
    server = await asyncio.start_unix_server(greet, path)
    carried = Carriers(carry, folder / "locks", note)
    with structlog.testing.capture_logs() as logs:
        carried.begin(CarriedLink(BOX, str(path)))
        async with asyncio.timeout(10):
            await lost.wait()
    await carried.close()
    server.close()
    return [one["pause"] for one in logs if one["event"] == "link_cut"]


async def taken(near: socket.socket) -> None:
    near.setblocking(False)
    assert await asyncio.get_running_loop().sock_recv(near, len(HELLO)) == HELLO


async def test_link_that_was_up_is_opened_again_after_the_first_pause(tmp_path: Path) -> None:
    async def up(near: socket.socket) -> None:
        await taken(near)
        await asyncio.sleep(0.05)  # it carries for so long
        raise Unavailable("cut")

    assert await pauses_of(tmp_path, 4, up) == [FIRST] * 4


async def test_pauses_double_while_the_machine_is_not_reached(tmp_path: Path) -> None:
    async def away(_near: socket.socket) -> None:
        await asyncio.sleep(0.05)  # the client tries for so long
        raise Unavailable("no route")

    assert await pauses_of(tmp_path, 5, away) == [0.01, 0.02, 0.04, 0.08, 0.08]


async def test_pauses_double_while_streams_end_as_they_begin(tmp_path: Path) -> None:
    assert await pauses_of(tmp_path, 4, taken) == [0.01, 0.02, 0.04, 0.08]
