"""An init as a plain child, against the Spawner contract and what is theirs alone."""

import asyncio
import os
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.ports.spawner import ProcessSpec
from atoll.runtime.spawners.control import ControlSocket
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.local import local
from atoll.testing.contracts.spawner import SpawnerContract
from atoll.testing.inside import run, start_piped


@pytest.fixture
def inside() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        yield folder


@pytest.fixture
async def spawner(inside: str) -> AsyncIterator[InitSpawner]:
    async with local(Path(inside)) as spawner:
        yield spawner


class TestLocal(SpawnerContract):
    """The contract."""


async def test_init_survives_signals_from_inside(spawner: InitSpawner) -> None:
    script = (
        "init=$(ps -o ppid= -p $PPID); "
        "for s in INT TERM HUP QUIT USR1 PIPE ALRM; do kill -$s $init; done"
    )
    end, _ = await run(spawner, "sh", "-c", script)
    assert end.code == 0
    end, text = await run(spawner, "echo", "alive")
    assert text == b"alive\n"


async def test_killing_ones_warden_takes_the_whole_tree_along(spawner: InitSpawner) -> None:
    script = "(setsid sleep 1000 &); kill -KILL $PPID; sleep 1000"
    async with start_piped(spawner, "sh", "-c", script) as (process, output):
        assert (await process.wait()).signal == signal.SIGKILL
        await output.to_end()
    end, _ = await run(spawner, "true")
    assert end.code == 0


async def test_death_of_init_takes_everything_along(spawner: InitSpawner) -> None:
    script = "ps -o ppid= -p $PPID; (setsid sleep 1000 &); sleep 1000"
    async with start_piped(spawner, "sh", "-c", script) as (process, output):
        (line,) = await output.lines(1)
        os.kill(int(line), signal.SIGKILL)
        await output.to_end()
        assert (await process.wait()).signal == signal.SIGKILL
    async with asyncio.timeout(5):
        await spawner.ended()
    with pytest.raises(Unavailable):
        await spawner.open_file("x", os.O_RDONLY)


async def test_spawn_that_is_cancelled_leaves_no_process(spawner: InitSpawner, inside: str) -> None:
    out, into = os.pipe()
    spec = ProcessSpec(("sleep", "1000"), (), "/", into, into, into)
    for turns in range(4):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(spawner.spawn(spec))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
    os.close(into)
    async with asyncio.timeout(10):
        assert await asyncio.to_thread(os.read, out, 1) == b""
    os.close(out)


async def test_answer_that_never_comes_is_unavailable_at_the_deadline() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    spawner = InitSpawner(ControlSocket(ours), deadline_seconds=0.05)
    with pytest.raises(Unavailable, match="did not answer"):
        await spawner.open_pty(cols=80, rows=24)
    theirs.close()
    await spawner.close()


async def test_garbage_from_init_ends_the_spawner() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    spawner = InitSpawner(ControlSocket(ours))
    theirs.send(b"garbage")
    async with asyncio.timeout(5):
        await spawner.ended()
    await spawner.close()
    theirs.close()


async def test_requests_queue_while_the_socket_is_full(spawner: InitSpawner) -> None:
    ends = await asyncio.gather(
        *(run(spawner, "sh", "-c", "echo ${#1}", "sh", "x" * 30_000) for _ in range(30))
    )
    assert {text for _, text in ends} == {b"30000\n"}


async def test_doors_are_owned_on_both_loopbacks_and_handed_out(inside: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    doors: list[socket.socket] = []
    async with local(Path(inside), doors=(port,), listeners=doors):
        assert [door.getsockname()[:2] for door in doors] == [("127.0.0.1", port), ("::1", port)]
        for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
                with socket.socket(family) as squatter:
                    squatter.setsockopt(socket.SOL_SOCKET, option, 1)
                    with pytest.raises(OSError, match="in use"):
                        squatter.bind((host, port))
        with pytest.raises(Failed, match="doors"):
            async with local(Path(inside), doors=(port,)):
                pass
        # Init closed its copies: when ours go, nobody answers.
        for door in doors:
            door.close()
        with socket.socket() as caller, pytest.raises(ConnectionRefusedError):
            caller.connect(("127.0.0.1", port))


async def test_init_without_its_workspace_says_so() -> None:
    with pytest.raises(Failed, match="No such file"):
        async with local(Path("/no/such/workspace")):
            pass


async def test_command_gets_the_process_limit_and_init_does_not(inside: str) -> None:
    async with local(Path(inside), nproc=4321) as spawner:
        _, text = await run(
            spawner, "sh", "-c", "ulimit -u 2>/dev/null || grep processes /proc/$$/limits"
        )
        assert b"4321" in text


async def test_spawn_with_a_bad_variable_is_invalid(spawner: InitSpawner) -> None:
    with pytest.raises(Invalid, match="variable"):
        await run(spawner, "true", env=(("A=B", "c"),))
