"""Scripts of a guest: the script that serves them, run by a shell of this machine, and guests that
answer anything else."""

import asyncio
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from atoll.adapters.extensions.microvm import guest_shell
from atoll.adapters.extensions.microvm.guest import SERVE, SERVING
from atoll.adapters.extensions.microvm.guest_shell import GuestShell
from atoll.adapters.linked.machine import mirror_to
from atoll.domain.errors import Failed, Unavailable

Answers = Callable[[socket.socket], Awaitable[None]]


@asynccontextmanager
async def guest(folder: Path, answers: Answers) -> AsyncIterator[GuestShell]:
    """Listen as a guest's port does, one connection at a time."""
    port = folder / "files.sock"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(port))
    listener.listen(4)
    listener.setblocking(False)
    loop = asyncio.get_running_loop()

    async def serve() -> None:
        while True:
            connection, _ = await loop.sock_accept(listener)
            with connection:
                await answers(connection)

    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve())
        yield GuestShell(port, "the machine")
        serving.cancel()
    listener.close()


def real(folder: Path) -> Answers:
    script = SERVE.replace("/run/atoll/asked", str(folder / "asked"))

    def run(connection: socket.socket) -> None:
        connection.setblocking(True)
        end = connection.fileno()
        subprocess.run(("sh", "-c", script), stdin=end, stdout=end, check=False)

    async def answers(connection: socket.socket) -> None:
        await asyncio.to_thread(run, connection)

    return answers


def saying(*pieces: bytes) -> Answers:
    async def answers(connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for piece in pieces:
            await loop.sock_sendall(connection, piece)
            await loop.sock_recv(connection, 65536)

    return answers


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_shell, "PAUSE_SECONDS", 0.0)


async def test_script_has_its_words_and_its_input_and_answers_all(tmp_path: Path) -> None:
    given = os.urandom(300_000)
    async with guest(tmp_path, real(tmp_path)) as shell:
        ran = await shell.run('echo "$2"; cat; echo no >&2; exit 3', "a b", "c'd", given=given,
                              seconds=10)  # fmt: skip
        assert (ran.code, ran.output, ran.complaint) == (3, b"c'd\n" + given, "no")
        assert (await shell.run("exit 0", given=given, seconds=10)).code == 0
        with pytest.raises(Failed, match="the machine: gone wrong"):
            async with shell.pipe("head -c 1 >/dev/null; echo gone wrong >&2; exit 1") as into:
                into.write(given)
                await into.drain()


async def test_script_whose_input_was_cut_answers_nobody(tmp_path: Path) -> None:
    async with guest(tmp_path, real(tmp_path)) as shell:
        with pytest.raises(KeyError):
            async with shell.pipe(f"cat >{tmp_path}/got") as into:
                into.write(b"begun")
                await into.drain()
                raise KeyError
        assert (await shell.run("echo next", seconds=10)).output == b"next\n"


async def test_folder_is_mirrored_whole(tmp_path: Path) -> None:
    source, place = tmp_path / "source", tmp_path / "place"
    (source / "refs" / "heads").mkdir(parents=True)
    (source / "objects").mkdir()
    (source / "refs/heads/main").write_text("1")
    (source / "refs/heads/gone").write_text("1")
    async with guest(tmp_path, real(tmp_path)) as shell:
        await mirror_to(shell, str(place), source)
        (source / "refs/heads/gone").unlink()
        (source / "refs/heads/main").write_text("2")
        (source / "objects/new").write_bytes(b"x" * 200_000)
        await mirror_to(shell, str(place), source)
    found = {str(one.relative_to(place)) for one in place.rglob("*") if one.is_file()}
    assert found == {"refs/heads/main", "objects/new"}
    assert (place / "refs/heads/main").read_text() == "2"


@pytest.mark.parametrize(
    "answer",
    [b"0 99999999999 0\n", b"0 -1 0\n", b"0 1\n", b"x y z\n", b"", b"0 5 0\nabc", b"\xff" * 70_000,
     b"9" * 60_000 + b" 0 0\n"],
)  # fmt: skip
async def test_answer_that_is_none_is_told_and_nothing_is_kept(
    tmp_path: Path, answer: bytes
) -> None:
    async with guest(tmp_path, saying(SERVING + b"\n", answer)) as shell:
        with pytest.raises(Unavailable, match="the machine takes no files"):
            await shell.run("true", seconds=1)


async def test_guest_that_never_serves_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_shell, "READY_SECONDS", 0.05)
    async with guest(tmp_path, saying(b"\0" * 1000)) as shell:
        with pytest.raises(Unavailable, match="does not answer in time"):
            await shell.run("true", seconds=1)
    with pytest.raises(Unavailable, match="takes no files"):
        await GuestShell(tmp_path / "absent.sock", "the machine").run("true", seconds=1)
