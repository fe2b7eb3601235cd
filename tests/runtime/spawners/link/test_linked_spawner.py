"""The Spawner contract over a link, and what only a link can lose."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from atoll.runtime.spawners.init import InitSpawner
from atoll.testing.contracts.spawner import SpawnerContract
from atoll.testing.inside import run, start_piped, terminal
from atoll.testing.linked import LinkRig, link_rig
from atoll.wire.attach import Ack
from tests.runtime.stage import abort, runtime
from tests.runtime.terminals.test_terminals import until_still


@pytest.fixture
async def link() -> AsyncIterator[LinkRig]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        root = Path(folder, "workspace")
        root.mkdir()
        async with link_rig(root, Path(folder)) as both:
            yield both


@pytest.fixture
def spawner(link: LinkRig) -> InitSpawner:
    return link.spawner


@pytest.fixture
def inside(spawner: InitSpawner) -> str:
    return spawner.root


class TestLinkedSpawner(SpawnerContract):
    """The contract, over a link."""


async def test_output_that_fills_every_buffer_comes_whole_and_before_the_end(
    spawner: InitSpawner,
) -> None:
    script = "head -c 3000000 /dev/zero | tr '\\0' x; echo done"
    end, text = await run(spawner, "sh", "-c", script)
    assert end.code == 0
    assert len(text) == 3_000_005
    assert text.endswith(b"xdone\n")


@pytest.mark.parametrize("size", [264_000, 272_000, 284_000])
async def test_driver_away_at_the_program_s_end_finds_all_that_was_on_its_way(
    spawner: InitSpawner, size: int
) -> None:
    @asynccontextmanager
    async def wall(_work: Path) -> AsyncIterator[InitSpawner]:
        yield spawner

    async with runtime(wall=wall) as rt:
        line = f"stty -echo -onlcr; echo ready; read go; exec head -c {size} /dev/zero"
        terminal = await rt.open("sh", "-c", line, cwd=spawner.root)
        async with rt.attach(terminal, client="a") as driver:
            await driver.until_bytes(b"ready\n")
            since = driver.offset
            await driver.say(Ack(since))
            await driver.type(b"\n")
            abort(driver.ws)
        scrollback = rt.terminals.get(terminal).scrollback
        await until_still(lambda: scrollback.end)
        async with rt.attach(terminal, client="a", since=since) as back:
            await back.until_bytes(bytes(150_000))
            assert scrollback.start <= since


async def test_cut_link_loses_and_repeats_nothing(link: LinkRig) -> None:
    script = "seq 1 200000 | md5sum; seq 1 200000"
    async with start_piped(link.spawner, "sh", "-c", script) as (process, output):
        async with asyncio.timeout(60):
            reading = asyncio.get_running_loop().create_task(output.to_end())
            for size in (1, 7, 1000, 33_333, 70_001) * 4:
                link.relay.cut_after = size
                while link.relay.cut_after and not reading.done():  # noqa: ASYNC110  bytes pass
                    await asyncio.sleep(0.001)
            text = await reading
        assert (await process.wait()).code == 0
    head, _, body = text.partition(b"\n")
    assert body == b"".join(b"%d\n" % number for number in range(1, 200_001))
    assert head
    assert link.relay.cuts >= 5


async def test_terminal_stands_while_the_link_is_cut_and_goes_on(link: LinkRig) -> None:
    async with terminal(link.spawner, "sh", "-i") as (process, screen):
        await screen.until(b"$ ")
        link.relay.hold()
        async with asyncio.timeout(10):
            while link.carrier.connected:  # noqa: ASYNC110  a cut has no event
                await asyncio.sleep(0.01)
        screen.type(b"echo $((6*7)) is the answer\n")
        link.relay.release()
        await screen.until(b"42 is the answer")
        screen.type(b"exit\n")
        assert (await process.wait()).code == 0


async def test_echo_of_a_terminal_is_known(link: LinkRig) -> None:
    async with terminal(link.spawner, "sh", "-c", "stty -echo; echo hidden; read a; echo bye") as (
        process,
        screen,
    ):
        await screen.until(b"hidden")
        assert screen.echo_off
        screen.type(b"secret\n")
        await screen.until(b"bye")
        assert (await process.wait()).code == 0
        assert b"secret" not in screen.seen


async def test_huge_environment_travels_as_a_memory_file(spawner: InitSpawner) -> None:
    env = (("PATH", os.defpath), *((f"V{number}", "z" * 1000) for number in range(100)))
    _, text = await run(spawner, "sh", "-c", "echo ${#V99}", env=env)
    assert text == b"1000\n"
