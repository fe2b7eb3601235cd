"""Far ends for tests, of each architecture, with an init that is a plain child."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from atoll.inside.program import init_argv
from tests.claims import free_port
from tests.inside.architectures import every_link, own_init
from tests.inside.link.near_end import TestNearEnd

PROGRAMS = every_link()


@dataclass
class FarEnds:
    """Starts far ends, and ends them after the test."""

    folder: Path
    program: tuple[str, ...]
    key: bytes = field(default_factory=lambda: os.urandom(32))
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    doors: tuple[int, ...] = ()
    near_ends: list[TestNearEnd] = field(default_factory=list)
    grace: float = 30.0

    @property
    def emulated(self) -> bool:
        """Whether the program is of another architecture."""
        return len(self.program) > 1

    @property
    def path(self) -> Path:
        """The socket."""
        return self.folder / "link.sock"

    @property
    def root(self) -> Path:
        """The workspace."""
        return self.folder / "workspace"

    def command(self, *more: str) -> tuple[str, ...]:
        """Return the words that start an init."""
        init = init_argv(own_init(), doors=self.doors, root=str(self.root))
        return (*self.program, "serve", "--socket", str(self.path), *more, "--", *init)

    def begin(self, *command: str) -> subprocess.Popen[bytes]:
        """Start a far end, which has the key but may not be ready."""
        self.root.mkdir(exist_ok=True)
        far = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.running.append(far)
        assert far.stdin
        far.stdin.write(self.key)
        far.stdin.close()
        return far

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Start a far end; return it once it is ready."""
        while True:
            far = self.begin(*self.command("--grace", str(self.grace), *more))
            assert far.stdout
            said = far.stdout.readline()
            if b"already in use" not in said:
                break
            # Somebody took the port between our look and the bind.
            self.doors = (free_port(),)
        assert said == b"ready\n"
        return far

    def near(self, incarnation: int = 1, *, key: bytes | None = None) -> TestNearEnd:
        """Return a near end that is not connected yet."""
        near = TestNearEnd(self.path, key or self.key, incarnation)
        self.near_ends.append(near)
        return near

    def end(self) -> None:
        """End everything."""
        for near in self.near_ends:
            near.cut()
        for far in self.running:
            far.terminate()
            far.wait(20)
            if far.stdout:
                far.stdout.close()


@pytest.fixture(params=PROGRAMS)
def fars(request: pytest.FixtureRequest) -> Iterator[FarEnds]:
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    program = tuple(request.param)
    fars = FarEnds(folder, program, doors=(free_port(),))
    try:
        yield fars
    finally:
        fars.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def near(fars: FarEnds) -> TestNearEnd:
    """A near end that is connected to a far end of its own."""
    fars.start()
    near = fars.near()
    near.connect()
    return near
