"""A machine on which nothing is started."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from atoll.domain.errors import AtollError, Failed
from atoll.domain.wall.isolation import Isolation
from atoll.ports.agents import AgentShelf
from atoll.ports.database import Database
from atoll.ports.host import Finding, UpOptions
from atoll.ports.images import ImageBuilder, ImageShelf
from atoll.ports.outside.local_wall import DesktopOptions, LocalRuntime, LocalWall
from atoll.testing.fakes.agents import FakeAgentShelf
from atoll.testing.fakes.database import FakeDatabase
from atoll.testing.fakes.images import FakeImageBuilder, FakeImageShelf
from atoll.wire.words.walls import IsolationLevel


@asynccontextmanager
async def _start_nothing(_place: Path) -> AsyncIterator[LocalRuntime]:
    raise Failed("a fake machine starts nothing")
    yield


class ServerStart(BaseException):
    """Raised by `FakeHost.up`, which like the real one never returns."""


@dataclass(slots=True)
class FakeHost:
    """A `ports.host.Host` whose shelves are fakes; `images_in` is a directory of the test's.
    `rows` is its database. `started` and `ended` list the requests, `homes` the directories that
    were named. Each method raises `failure` while it is set."""

    images_in: Path
    findings: Sequence[Finding] = (Finding("fake", "ok", "This machine is a fake."),)
    failure: AtollError | None = None
    started: list[UpOptions] = field(default_factory=list)
    ended: list[Path] = field(default_factory=list)
    homes: list[Path] = field(default_factory=list)
    shelf: FakeAgentShelf = field(default_factory=FakeAgentShelf)
    rows: FakeDatabase = field(default_factory=FakeDatabase)

    def up(self, options: UpOptions) -> NoReturn:
        """Note the options. Raises `Started`, in whose place the real one becomes the server."""
        self._check(options.home)
        self.started.append(options)
        raise ServerStart

    def down(self, home: Path) -> None:
        """See the port."""
        self._check(home)
        self.ended.append(home)

    def doctor(self, home: Path, *, public: bool = False) -> Sequence[Finding]:
        """See the port."""
        self._check(home)
        return self.findings

    def desktop(self, options: DesktopOptions) -> LocalWall:
        """See the port. Its wall starts nothing."""
        if self.failure is not None:
            raise self.failure
        level = IsolationLevel.NONE if options.bare else IsolationLevel.CONTAINER
        return LocalWall(Isolation(level, "fake"), _start_nothing)

    def agents(self, home: Path) -> AgentShelf:
        """See the port."""
        self._check(home)
        return self.shelf

    def images(self, home: Path) -> ImageShelf:
        """See the port."""
        self._check(home)
        return FakeImageShelf(self.images_in)

    def builder(self, home: Path) -> ImageBuilder:
        """See the port."""
        self._check(home)
        return FakeImageBuilder()

    def database(self, home: Path) -> Database:
        """See the port."""
        self._check(home)
        return self.rows

    def _check(self, home: Path) -> None:
        self.homes.append(home)
        if self.failure is not None:
            raise self.failure
