"""Images built by the daemon from a folder of the home, under limits, once per content.

`build:NAME` is the folder `$ATOLL_HOME/images/NAME` with a Dockerfile. What may not be asked of
the daemon is refused before it hears of it (`dockerfile`, `context`); the images a recipe
stands on are fetched one by one and looked at. The daemon reads what was checked, not the file.
Commands of a build run in the daemon's own containers: without a network unless the owner
allows one, bounded in memory, processor time and duration, and with nothing of the home's but
the folder.
"""

import asyncio
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from atoll.adapters.extensions.docker import dockerfile
from atoll.adapters.extensions.docker.context import pack, recipe_of, with_recipe
from atoll.adapters.extensions.docker.engine import BuildRequest, Engine, Image
from atoll.adapters.extensions.docker.pulls import is_reference, pull_image
from atoll.adapters.extensions.docker.settings import USUAL_RULES, BuildRules
from atoll.domain.errors import Failed, Forbidden, Invalid, LimitReached
from atoll.domain.size import MIB

BUILD = "build:"
REPOSITORY = "atoll-build"
MAX_LINES = 400
MAX_LINE = 300
_NAME = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_MAX_NAME = 80

Report = Callable[[str], None]


@dataclass(slots=True)
class Builds:
    """Builds of one daemon, one at a time. `folder` is the home's `images`."""

    engine: Engine
    folder: Path
    rules: BuildRules = USUAL_RULES
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def image(self, name: str, report: Report, *, again: bool = False) -> Image:
        """Return the image of the folder `name`, and build it unless an image of the same content
        exists. With `again` it is built in any case. Raises `Invalid` (a request that is not
        allowed), `Forbidden` (a base that is not allowed), `LimitReached`, `Failed` with the
        daemon's message, `Unavailable`."""
        place = self.folder / check_name(name)
        async with self._turn:
            with tempfile.TemporaryFile() as packed, tempfile.TemporaryFile() as context:
                recipe, digest = await asyncio.to_thread(self._pack, place, packed)
                self._check_bases(recipe)
                tag = f"{REPOSITORY}/{name}:{digest}"
                image = None if again else await self.engine.image(tag)
                if image is not None:
                    return image
                pinned_recipe = recipe.with_bases(await self._fetch_bases(recipe, report))
                await asyncio.to_thread(
                    with_recipe, packed, context, old=recipe.text, new=pinned_recipe
                )
                size = context.seek(0, os.SEEK_END)
                report(f"building {name}: {size / MIB:.1f} MiB are sent to the daemon")
                context.seek(0)
                await self._build(name, BuildRequest(tag, context, again), report)
            image = await self.engine.image(tag)
        if image is None:
            raise Failed(f"{name} was built, yet its image is not there: look at the daemon")
        return image

    def check(self, name: str) -> None:
        """Check that the folder `name` has a recipe that may be built. Raises `Invalid`,
        `Forbidden`."""
        place = self.folder / check_name(name)
        try:
            recipe = dockerfile.read_recipe(recipe_of(place), is_reference)
        except OSError as err:
            raise _unreadable_error(place, err) from err
        self._check_bases(recipe)

    def _pack(self, place: Path, context: BinaryIO) -> tuple[dockerfile.Recipe, str]:
        try:
            recipe = dockerfile.read_recipe(recipe_of(place), is_reference)
            max_bytes = self.rules.context_mb * MIB
            return recipe, pack(place, context, recipe=recipe.text, max_bytes=max_bytes)
        except OSError as err:
            raise _unreadable_error(place, err) from err

    def _check_bases(self, recipe: dockerfile.Recipe) -> None:
        """Raise `Forbidden` for a base that is not allowed, also for what was built before."""
        for base in recipe.bases:
            if not dockerfile.may_be_base(base, self.rules.bases):
                raise Forbidden(
                    f"nothing may be built on {base}: `builds.bases` allows "
                    f"{', '.join(self.rules.bases or ()) or 'no image'}",
                    field="image",
                )

    async def _fetch_bases(self, recipe: dockerfile.Recipe, report: Report) -> list[str]:
        """Fetch and check the images that the recipe builds on. Returns their ids."""
        ids = []
        for base in recipe.bases:
            image = await pull_image(self.engine, base, report)
            triggers = image.config.on_build if image.config else None
            dockerfile.check_triggers(base, triggers or [])
            ids.append(image.id)
        return ids

    async def _build(self, name: str, building: BuildRequest, report: Report) -> None:
        output = _BuildOutput(name, report)
        try:
            async with asyncio.timeout(self.rules.seconds):
                async for line in self.engine.build(building, self._limits()):
                    output.add(line.stream or line.status)
        except TimeoutError as err:
            raise LimitReached(
                f"building {name} took longer than {self.rules.seconds} s and was ended: make it "
                "shorter, or raise `builds.seconds`"
            ) from err
        except Failed as err:
            raise Failed(f"{name} could not be built: {err.message}") from err

    def _limits(self) -> dict[str, str]:
        rules = self.rules
        period = 100_000
        return {
            "networkmode": "default" if rules.network else "none",
            "memory": str(rules.memory_mb * MIB),
            "memswap": str(rules.memory_mb * MIB),
            "cpuperiod": str(period),
            "cpuquota": str(int(rules.cpu * period)),
        }

    async def remove(self, name: str) -> list[str]:
        """Remove every image built of `name` and return their tags. Raises `Conflict` while a
        container uses one."""
        removed = []
        for tag in await self.tags(name):
            await self.engine.remove_image(tag)
            removed.append(tag)
        return removed

    async def tags(self, name: str) -> list[str]:
        """Return the images built of `name`, newest first."""
        repository = f"{REPOSITORY}/{check_name(name)}"
        images = await self.engine.images(repository)
        images.sort(key=lambda one: one.created, reverse=True)
        tags = [tag for one in images for tag in one.repo_tags or ()]
        return [tag for tag in tags if tag.startswith(f"{repository}:")]


def _unreadable_error(place: Path, err: OSError) -> Invalid:
    return Invalid(f"{err.filename or place} cannot be read: {err.strerror or err}", field="image")


def check_name(name: str) -> str:
    """Return `name` when it can name both a folder and an image. Raises `Invalid`."""
    if len(name) > _MAX_NAME or not _NAME.fullmatch(name):
        raise Invalid(
            f"{name[:80]!r} cannot name a folder to build: lower-case letters, digits, and single "
            "`.`, `_` or `-` between them",
            field="image",
        )
    return name


@dataclass(slots=True)
class _BuildOutput:
    """The reported output of a build, bounded, a line at a time."""

    name: str
    report: Report
    _lines: int = 0

    def add(self, text: str) -> None:
        """Report a piece of output; a line that was redrawn counts as its last state."""
        for line in text.split("\n"):
            last_state = line.rpartition("\r")[2].strip()
            if not last_state:
                continue
            self._lines += 1
            if self._lines <= MAX_LINES:
                self.report(f"{self.name}: {last_state[:MAX_LINE]}")
            elif self._lines == MAX_LINES + 1:
                self.report(f"{self.name}: … the rest of the build's output is left out")
