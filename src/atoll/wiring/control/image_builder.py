"""The Dockerfiles of a home, built on the spot for the person who owns it. No server is asked."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.extensions.docker.builds import Builds
from atoll.adapters.extensions.docker.engine import Engine
from atoll.ports.images import Built
from atoll.wiring.control.settings import ControlSettings, read_settings


@dataclass(frozen=True, slots=True)
class DaemonBuilder:
    """`ports.images.ImageBuilder` by the daemon of the home's settings."""

    settings: ControlSettings

    @classmethod
    def of(cls, home: Path) -> "DaemonBuilder":
        """Return a builder with the settings of `home`. Raises `Invalid`."""
        return cls(read_settings(home, os.environ, {}))

    def build(self, name: str, report: Callable[[str], None], *, again: bool) -> Built:
        """See the port."""

        async def build() -> Built:
            async with self._builds() as builds:
                before = await builds.tags(name)
                image = await builds.image(name, report, again=again)
                new = again or await builds.tags(name) != before
                return Built(name, image.id, new)

        return asyncio.run(build())

    def remove(self, name: str) -> Sequence[str]:
        """See the port."""

        async def remove() -> list[str]:
            async with self._builds() as builds:
                return await builds.remove(name)

        return asyncio.run(remove())

    @asynccontextmanager
    async def _builds(self) -> AsyncIterator[Builds]:
        engine = Engine(self.settings.docker.docker_host)
        try:
            yield Builds(engine, self.settings.home / "images", self.settings.docker.builds)
        finally:
            await engine.close()
