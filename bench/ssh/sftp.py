"""The SFTP server that runs inside, beside OpenSSH's, both driven by OpenSSH's `sftp -D`.

There is no SSH and no sandbox between them: what is left is what the servers cost. The files lie in
memory where there is room, so that no disk is measured.
"""

import filecmp
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atoll.inside.program import init_binary
from bench.figures import Series, table, verdict

PEER = Path("/usr/lib/openssh/sftp-server")
ROUNDS = 5
LARGE_MIB = 500
SMALL_FILES = 10_000
NEEDED_BYTES = 4 * LARGE_MIB * 2**20
LEAST_PART = 0.6
COMMANDS = {
    f"get of {LARGE_MIB} MiB": "get {there}/large {here}/got",
    f"put of {LARGE_MIB} MiB": "put {here}/large {there}/put",
    f"put of {SMALL_FILES:,} files": "put -R {here}/many {there}/",
    f"get of {SMALL_FILES:,} files": "get -R {there}/many {here}/back",
}


def sftp() -> None:
    """A large file and many small ones, got and put."""
    if shutil.which("sftp") is None or not PEER.exists():
        print("  no OpenSSH here: nothing measured")
        return
    with _folders() as (here, there):
        servers = {"atoll": f"{init_binary()} sftp --root {there}", "OpenSSH": str(PEER)}
        series = {
            (name, server): Series(f"{server}: {name}") for name in COMMANDS for server in servers
        }
        for count in range(ROUNDS + 1):
            for server, words in servers.items():
                for name, command in COMMANDS.items():
                    took = _run(words, command.format(here=here, there=there))
                    if count:  # the first round warms caches
                        series[name, server].samples.append(took)
                _compare_and_clear(here, there)
    table("SFTP, without SSH", *series.values())
    for name in COMMANDS:
        part = series[name, "OpenSSH"].median / series[name, "atoll"].median
        verdict(f"part of OpenSSH's speed, {name}", part, LEAST_PART, at_least=True)


@contextmanager
def _folders() -> Iterator[tuple[Path, Path]]:
    memory = Path("/dev/shm")
    free = shutil.disk_usage(memory).free if memory.is_dir() else 0
    top = memory if free > NEEDED_BYTES and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="atsftp", dir=top) as folder:
        here, there = Path(folder) / "here", Path(folder) / "there"
        there.mkdir()
        (here / "many").mkdir(parents=True)
        with (here / "large").open("wb") as large:
            for _ in range(LARGE_MIB):
                large.write(os.urandom(2**20))
        shutil.copy(here / "large", there / "large")
        for count in range(SMALL_FILES):
            (here / "many" / f"{count}").write_text(f"{count}\n" * 20)
        yield here, there


def _run(server: str, command: str) -> float:
    started = time.perf_counter()
    subprocess.run(
        ["sftp", "-q", "-D", server, "-b", "-"],
        input=command.encode(),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return (time.perf_counter() - started) * 1000


def _compare_and_clear(here: Path, there: Path) -> None:
    for one, other in ((here / "got", there / "large"), (here / "large", there / "put")):
        assert filecmp.cmp(one, other, shallow=False), f"{one} and {other} differ"
    for copy in (here / "back", there / "many"):
        subprocess.run(["diff", "-r", here / "many", copy], check=True)
        shutil.rmtree(copy)
    (here / "got").unlink()
    (there / "put").unlink()
