"""The leader of an agent's session, on real terminals: no shell, and never in the way."""

import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atoll.domain.errors import Invalid
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.local import local
from atoll.testing.inside import Screen, terminal

QUIET_SECONDS = 0.3


@pytest.fixture
async def spawner() -> AsyncIterator[InitSpawner]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        async with local(Path(folder)) as spawner:
            yield spawner


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        ("exit 0", 0, None),
        ("exit 37", 37, None),
        ("kill -TERM $$", None, signal.SIGTERM),
        ("kill -KILL $$", None, signal.SIGKILL),
        ("kill -HUP $$", None, signal.SIGHUP),
    ],
)
async def test_leader_ends_exactly_as_its_job_ended(
    spawner: InitSpawner, script: str, code: int | None, number: int | None
) -> None:
    async with terminal(spawner, "sh", "-c", script, lead=True) as (process, _):
        end = await process.wait()
        assert (end.code, end.signal) == (code, number)


async def test_leader_of_no_program_is_refused_by_name(spawner: InitSpawner) -> None:
    with pytest.raises(Invalid) as refused:
        async with terminal(spawner, "no-such-agent", lead=True):
            pass
    assert refused.value.code == "no_such_program"


async def test_job_is_the_foreground_group_and_not_the_leader(spawner: InitSpawner) -> None:
    script = "ps -o pid=,pgid=,tpgid=,sid= -p $$; ps -o pid= -p $PPID; sleep 100"
    async with terminal(spawner, "sh", "-c", script, lead=True) as (process, screen):
        job, leader = await screen.lines(2)
        pid, group, foreground, session = (int(word) for word in job.split())
        assert pid == group == foreground
        assert session == int(leader) != pid
        await process.signal(signal.SIGINT)
        assert (await process.wait()).signal == signal.SIGINT


async def test_stopped_tree_leaves_the_terminal_quiet_until_it_is_continued(
    spawner: InitSpawner,
) -> None:
    # The second loop left its session and group: only its descent tells whose it is.
    script = (
        "(setsid sh -c 'while :; do echo daemon; sleep 0.01; done' &); "
        "while :; do echo agent; sleep 0.01; done"
    )
    async with terminal(spawner, "sh", "-c", script, lead=True) as (process, screen):
        await screen.until(b"daemon")
        await screen.until(b"agent")
        await process.signal(signal.SIGSTOP, tree=True)
        await _drained(screen)
        size = len(screen.seen)
        assert await _says_nothing(screen)
        assert len(screen.seen) == size
        await process.signal(signal.SIGCONT, tree=True)
        screen.seen = b""
        await screen.until(b"daemon")
        await screen.until(b"agent")
        await process.signal(signal.SIGKILL, tree=True)


async def test_job_suspended_from_the_keyboard_goes_on(spawner: InitSpawner) -> None:
    script = "echo ready; while read line; do echo got-$line; done"
    async with terminal(spawner, "sh", "-c", script, lead=True) as (process, screen):
        await screen.until(b"ready")
        screen.type(b"\x1a")
        screen.type(b"more\n")
        await screen.until(b"got-more")
        await process.signal(signal.SIGKILL, tree=True)


async def test_job_gets_the_terminal_back_from_a_child_that_died_with_it(
    spawner: InitSpawner,
) -> None:
    # An interactive shell takes the foreground; killed, it cannot give it back.
    script = (
        "sh -i -c 'sh -ic \"kill -KILL \\$\\$\"; kill -KILL $$'; echo then; read x; echo got-$x"
    )
    async with terminal(spawner, "sh", "-c", script, lead=True) as (process, screen):
        await screen.until(b"then")
        screen.type(b"it\n")
        await screen.until(b"got-it")
        assert (await process.wait()).code == 0


async def test_terminal_that_hangs_up_tells_the_job(spawner: InitSpawner) -> None:
    async with terminal(spawner, "sh", "-c", "echo ready; exec sleep 100", lead=True) as (
        process,
        screen,
    ):
        await screen.until(b"ready")
    assert (await process.wait()).signal == signal.SIGHUP


async def _drained(screen: Screen) -> None:
    """What was on its way has come."""
    while not await _says_nothing(screen):
        pass


async def _says_nothing(screen: Screen) -> bool:
    """Whether the terminal stays quiet for a moment; the absence of output has no event."""
    return await screen.quiet(QUIET_SECONDS)
