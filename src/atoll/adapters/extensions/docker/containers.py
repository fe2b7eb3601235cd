"""The containers of one home in the Engine: created once by name, inspected, removed.

Each sandbox has one, whose name and labels say whose it is. What stands in them is
`container`'s business, who lives in them the zygote's.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from time import monotonic

import structlog

from atoll.adapters.extensions.docker.engine import Engine, Inspection, ListedContainer
from atoll.domain.errors import AtollError, Conflict, Failed, Invalid, NotFound, Unavailable

REMOVE_SECONDS = 20.0
AGAIN_SECONDS = 0.1
HOME_LABEL, SANDBOX_LABEL, GENERATION_LABEL = "atoll.home", "atoll.sandbox", "atoll.generation"
EXTENSION_LABEL = "atoll.extension"
"""The backend that made a container. Several backends of a home may use one Engine."""

INSTALLATION_LABEL = "atoll.installation"
"""The installation that made a container. Homes of one path on two machines may use one Engine."""

NAME = "ext.docker"
STACK_LABEL = "atoll.service"
"""On every container of a stack (`domain.compose.document`), and on none of ours."""

NOBODY_THERE = 69
"""Exit code of init when its rendezvous is gone."""

LET_GO = "its init was let go"
"""Why a container ended whose init was spoken to and then left (its exit code is 0)."""

_UNSEEN = "bind source path does not exist"
"""The daemon's words (moby, daemon/volume/mounts) where a source was there when we named it."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Containers:
    """The containers labelled with `tag` that `installation` made. Raises what `Engine` raises."""

    engine: Engine
    tag: str
    installation: str

    @property
    def label(self) -> str:
        """Label that all of them carry."""
        return f"{HOME_LABEL}={self.tag}"

    def name(self, sandbox_id: str) -> str:
        """Return the name of a sandbox's container."""
        return f"{self.tag}-{sandbox_id}"

    def labels(self, sandbox_id: str, generation: int) -> tuple[tuple[str, str], ...]:
        """Return the labels that identify a container's home and sandbox."""
        return (
            (HOME_LABEL, self.tag),
            (INSTALLATION_LABEL, self.installation),
            (EXTENSION_LABEL, NAME),
            (SANDBOX_LABEL, sandbox_id),
            (GENERATION_LABEL, str(generation)),
        )

    async def all(self, kept_sandboxes: Collection[str]) -> list[ListedContainer]:
        """Return every container that this backend made, running or not. One without a label for
        its installation, as earlier versions made it, is ours if its sandbox is one of
        `kept_sandboxes`."""
        containers = [
            container
            for container in await self.engine.containers(self.label)
            if is_of_docker(container.labels or {})
        ]
        ours = [
            container
            for container in containers
            if self._is_ours(container.labels or {}, kept_sandboxes)
        ]
        foreign = len(containers) - len(ours)
        if foreign:
            _log.info("containers_of_others", count=foreign, label=self.label)
        return ours

    def _is_ours(self, labels: Mapping[str, str], kept_sandboxes: Collection[str]) -> bool:
        made_by = labels.get(INSTALLATION_LABEL)
        if made_by is None:
            return labels.get(SANDBOX_LABEL) in kept_sandboxes
        return made_by == self.installation

    async def run(self, sandbox_id: str, generation: int, *, body: bytes) -> None:
        """Create and start a container. An existing one of the same generation is used as it is.
        Raises `Failed` where the daemon does not see what was mounted for it."""
        name = self.name(sandbox_id)
        try:
            await self._make(name, generation, body=body)
        except Invalid as err:
            if _UNSEEN not in err.message:
                raise
            raise Failed(
                "the Docker daemon does not see the mounts of this machine: it has a mount "
                "namespace of its own. Run it without one (no MountFlags or PrivateMounts in its "
                "unit)"
            ) from err
        await self.engine.start(name)

    async def _make(self, name: str, generation: int, *, body: bytes) -> None:
        try:
            await self.engine.create(name, body)
        except Conflict:
            if not await self._is_usable(name, generation):
                await self.remove(name)
                await self.engine.create(name, body)

    async def _is_usable(self, name: str, generation: int) -> bool:
        container = await self.inspect(name)
        if container is None or container.state.status not in ("created", "running"):
            return False
        return _is_of(container, generation)

    async def inspect(self, name: str) -> Inspection | None:
        """Inspect a container; None when it does not exist."""
        try:
            return await self.engine.inspect(name)
        except NotFound:
            return None

    async def runs(self, name: str, image: str) -> bool:
        """Report whether a container runs that was made of the image of this id."""
        container = await self.inspect(name)
        return container is not None and container.state.running and container.image == image

    async def end_of(self, name: str) -> str:
        """Wait for a container's end and return the reason. Raises nothing."""
        try:
            code = await self.engine.exit_code(name)
        except AtollError as err:
            return err.message
        if code == NOBODY_THERE:
            return (
                "its init found nobody to speak to: the daemon must run on this machine and see "
                "the home's folder"
            )
        return LET_GO if code == 0 else f"its init ended with status {code}"

    async def remove(self, name: str) -> bool:
        """Remove the container, joining a removal in progress. Returns whether it existed."""
        there, deadline = False, monotonic() + REMOVE_SECONDS
        while True:
            try:
                return await self.engine.remove(name) or there
            except Conflict as err:
                if monotonic() > deadline:
                    raise Unavailable(f"container {name} does not go: {err.message}") from err
                there = True
                await asyncio.sleep(AGAIN_SECONDS)

    async def sweep(self, name: str) -> None:
        """Remove a container without a waiting caller. A failure is logged and retried at the next
        survey."""
        try:
            await self.remove(name)
            _log.info("container_swept", container=name)
        except AtollError as err:
            _log.warning("container_left", container=name, reason=err.message)

    async def sweep_generation(self, sandbox_id: str, generation: int) -> None:
        """Do the same to the container of a sandbox, unless it is of another generation: the
        sandbox may be started again by now. 0 is that of one that waited in a pool, which goes once
        it has ended. Raises what `inspect` raises."""
        container = await self.inspect(self.name(sandbox_id))
        if container is None:
            return
        gone = _is_of(container, generation) if generation else not container.state.running
        if gone:
            await self.sweep(container.id)


def _is_of(container: Inspection, generation: int) -> bool:
    return (container.config.labels or {}).get(GENERATION_LABEL) == str(generation)


def is_of_docker(labels: Mapping[str, str]) -> bool:
    """Report whether a container with our labels is one of this backend. Those made before there
    was a label for it are told by what only stacks have."""
    made_by = labels.get(EXTENSION_LABEL)
    return made_by == NAME or (made_by is None and STACK_LABEL not in labels)
