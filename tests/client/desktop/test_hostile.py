"""A lane against a server that is not to be trusted: offers that ask for paths outside, absurd
sizes, and what was never offered."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from atoll.client.aio.connection import Connection
from atoll.client.desktop import lane as lanes
from atoll.client.desktop.folders import WorkerFolder, find_worker_folders, hold_lane
from atoll.client.desktop.lane import Lane, LaneRun
from atoll.client.desktop.served import Pace
from atoll.client.fields import Shape
from atoll.client.transport import Call
from atoll.domain.errors import Conflict, Failed, Unavailable
from atoll.domain.wall.isolation import Isolation
from atoll.ports.outside.local_wall import LocalRuntime, LocalWall
from atoll.wire.http.server_sent import ServerSent
from atoll.wire.words.walls import IsolationLevel

BARE = Isolation(IsolationLevel.NONE, "none")


class Deaf:
    """A server that takes nothing."""

    def __init__(self) -> None:
        self.delivered: list[Any] = []

    async def read(self, shape: type[Shape], call: Call) -> Shape:
        assert isinstance(call.body, bytes)
        batch = json.loads(call.body)
        self.delivered += batch["items"]
        return shape({"expected": batch["first"] + len(batch["items"]), "taken": 1})


class Hostile:
    """The lane, and what a server makes it do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Path] = []
        self.said: list[str] = []
        self.server = Deaf()
        self.failing = True
        wall = LocalWall(BARE, self.start)
        connection = cast(Connection, self.server)
        self.run = LaneRun(Lane(connection, "laptop", wall, folder, self.said.append, Pace(0.01)))

    @asynccontextmanager
    async def start(self, place: Path) -> AsyncIterator[LocalRuntime]:
        self.started.append(place)
        if self.failing:
            raise Failed("no wall today")
        await asyncio.sleep(3600)  # it stays until it is cancelled
        yield cast(LocalRuntime, None)

    async def send(self, *frames: tuple[str, object]) -> None:
        """Have the lane read frames, and do what they ask for."""
        async with asyncio.TaskGroup() as tasks:
            for kind, told in frames:
                data = told if isinstance(told, bytes) else json.dumps(told).encode()
                self.run._read(ServerSent("1", kind, data), tasks)
            await asyncio.sleep(0.05)
            if not self.failing:
                for one in tuple(self.run.running):
                    one.cancel()


def lease(worker: object, epoch: object = 1) -> tuple[str, object]:
    return "lease", {"worker_id": worker, "epoch": epoch, "token": "atw_x", "reattachable": True}


def offer(worker: object, epoch: object = 1, **act: object) -> tuple[str, object]:
    return "offer", {"worker_id": worker, "epoch": epoch, "number": 1, **act}


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    (tmp_path / "lane").mkdir()
    (tmp_path / "precious").write_text("mine")
    return Hostile(tmp_path / "lane")


@pytest.mark.parametrize(
    "name", ["..", "../..", "/etc", "a/../../precious", "", ".", "a\0b", "x" * 65, "-x", "é", "a b"]
)
async def test_worker_id_that_is_a_path_is_refused_for_every_act(
    hostile: Hostile, name: str
) -> None:
    acts: list[dict[str, object]] = [
        {"provision": {}},
        {"remove": {}},
        {"stop": {}},
        {"hold": {"thread_id": "t"}},
        {"give_back": {"thread_id": "t"}},
        {"follow": {}},
        {"request": {"request_id": "r", "method": "m"}},
    ]
    await hostile.send(lease(name), *(offer(name, **act) for act in acts))
    assert hostile.started == [] and hostile.server.delivered == []
    assert (hostile.folder.parent / "precious").read_text() == "mine"
    assert [*hostile.folder.iterdir()] == []
    assert find_worker_folders(hostile.folder.parent, name) == {}


async def test_removal_follows_no_link_out_of_the_directory(hostile: Hostile) -> None:
    outside = hostile.folder.parent / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    folder = WorkerFolder(hostile.folder, "w")
    folder.make()
    (folder.place / "workspace" / "link").symlink_to(outside)
    await hostile.send(offer("w", remove={}))
    assert not folder.place.exists()
    assert (outside / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"7",
        b"null",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"worker_id":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"worker_id":"w"}',
        b'{"worker_id":"w","epoch":"x"}',
        b'{"worker_id":"w","epoch":1}',
        b'{"worker_id":"w","epoch":1,"hold":{}}',
        b'{"worker_id":"w","epoch":1,"hold":{"thread_id":7}}',
        b'{"worker_id":"w","epoch":1,"request":{}}',
        b'{"worker_id":"w","epoch":1,"exec":{"argv":["sh"]}}',
        b'{"worker_id":"w","epoch":' + b"9" * 5000 + b"}",
    ],
)
@pytest.mark.parametrize("kind", ["lease", "offer", "else"])
async def test_frame_that_cannot_be_read_ends_nothing(
    hostile: Hostile, kind: str, data: bytes
) -> None:
    await hostile.send((kind, data), lease("w"), offer("w", provision={}))
    assert [one.name for one in hostile.started] == ["w"]


async def test_start_without_its_token_or_of_an_earlier_epoch_begins_nothing(
    hostile: Hostile,
) -> None:
    await hostile.send(offer("w", provision={}))
    assert hostile.started == []
    await hostile.send(lease("w", 2), offer("w", 2, provision={}))
    await hostile.send(lease("w", 1), offer("w", 1, provision={}))
    await hostile.send(lease("w", 2), offer("w", 2, provision={}))
    assert len(hostile.started) == 1


async def test_tokens_and_workers_are_bounded(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "MOST_SERVED", 3)
    monkeypatch.setattr(lanes, "MOST_LEASES", 5)
    await hostile.send(*(lease(f"t{number}") for number in range(50)))
    assert len(hostile.run.tokens) == 5
    hostile.failing = False
    frames = [
        frame
        for number in range(10)
        for frame in (lease(f"w{number}"), offer(f"w{number}", provision={}))
    ]
    await hostile.send(*frames)
    assert len(hostile.started) == 3
    refused = [one["error"]["message"] for one in hostile.server.delivered if "error" in one]
    assert refused == ["3 workers run on this desktop already."] * 7


async def test_fault_of_one_worker_ends_no_other(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(LaneRun, "_start_worker", broken)
    await hostile.send(lease("w"), offer("w", provision={}))
    assert hostile.said[-1] == "w broke here, and has ended"
    monkeypatch.undo()
    await hostile.send(lease("v"), offer("v", provision={}))
    assert [one.name for one in hostile.started] == ["v"]


async def test_two_lanes_of_one_desktop_do_not_run_on_one_machine(tmp_path: Path) -> None:
    already = pytest.raises(Conflict, match="runs on this machine already")
    with hold_lane(tmp_path), already, hold_lane(tmp_path):
        pass
    with hold_lane(tmp_path):
        pass


async def test_server_that_is_away_takes_no_receipt_for_ever(hostile: Hostile) -> None:
    async def away(*_: object) -> Shape:
        raise Unavailable("away")

    hostile.server.read = away  # type: ignore[method-assign, assignment]
    async with asyncio.timeout(5):
        await hostile.send(lease("w"), offer("w", provision={}))
