"""Ports on which something listens: found by a tool inside, and told when they change."""

import asyncio
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from atoll.domain.errors import Unavailable
from atoll.runtime import listening
from atoll.runtime.health import Activity
from atoll.runtime.listening import ListeningPorts
from atoll.wire.contract.ports import list_ports
from tests.runtime.stage import runtime


@contextmanager
def server(host: str, family: socket.AddressFamily) -> Iterator[int]:
    with socket.create_server((host, 0), family=family) as made:
        yield int(made.getsockname()[1])


async def test_route_lists_what_the_loopback_reaches() -> None:
    four, six = socket.AF_INET, socket.AF_INET6
    with (
        server("127.0.0.1", four) as one,
        server("::1", six) as two,
        server("127.0.0.2", four) as no,
    ):
        async with runtime() as r:
            _, found = await r.call("GET", list_ports().path)
    assert {one, two} <= set(found["ports"])
    assert no not in found["ports"]


class Told:
    """A watch over scripted looks, and what it wrote into the journal."""

    def __init__(self, *looks: bytes | Exception) -> None:
        self.looks = list(looks)
        self.lines: list[tuple[str, object]] = []
        self.done = asyncio.Event()
        self.activity = Activity("sb_1", 1)
        spawner: Any = None
        self.ports = ListeningPorts(
            spawner, self.activity, self.append, busy=lambda: True
        )  # fmt: skip

    def append(self, kind: str, said: Mapping[str, object]) -> None:
        self.lines.append((kind, said["port"]))
        if len(self.lines) == 2:
            self.done.set()

    async def run(self, _spawner: object, *_words: str, what: str) -> bytes:
        found = self.looks.pop(0) if self.looks else b""
        if isinstance(found, Exception):
            raise found
        return found


async def test_watch_tells_what_changed_after_a_use_and_survives_a_failed_look() -> None:
    told = Told(b"0100007F BB8\n0100007F FFFF\n", Unavailable("ended"), b"")
    with (
        patch.object(listening, "run", told.run),
        patch.object(listening, "LOOK_SECONDS", 0.001),
        patch.object(listening, "FRESH_SECONDS", 0.0),
        patch.object(listening, "LOOKS", 4),
    ):
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(told.ports.watch())
            await asyncio.sleep(0)
            assert told.lines == []
            told.activity.use()
            await asyncio.wait_for(told.done.wait(), 5)
            watch.cancel()
    assert told.lines == [("port.opened", 3000), ("port.closed", 3000)]


async def test_looks_at_once_are_one() -> None:
    told = Told(b"0100007F BB8\n", b"rubbish")
    with patch.object(listening, "run", told.run):
        found = await asyncio.gather(told.ports.now(), told.ports.now())
    assert {*found} == {(3000,)}
    assert len(told.looks) == 1
