"""`ext.namespaces`: sandboxes of Linux namespaces on this machine, started by the zygote.

Translates profiles into the zygote's words and its answers into the port's. What happens
on the host is the zygote's business, what happens inside the runtime's.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from atoll.adapters.extensions.namespaces.roots import check_agent, choose_mounts, shell_of
from atoll.adapters.trees.found import FoundTrees
from atoll.adapters.zygote.environment import environment_with_image
from atoll.adapters.zygote.link import ZygoteLink
from atoll.adapters.zygote.probe import check_health
from atoll.adapters.zygote.snapshots import ZygoteSnapshots, promise_of
from atoll.adapters.zygote.start import agents_of, host_mounts_of, hostname, limits_of
from atoll.adapters.zygote.unkept import NO_OVERLAY, unkept_fields
from atoll.domain.errors import AtollError, Failed, Invalid, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile, RootMode
from atoll.domain.sandboxes.image import HOST
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import (
    KEEP_POOLS,
    KEEP_SNAPSHOTS,
    Capabilities,
    CleanupReport,
    Ended,
    ExtensionSetup,
    Handle,
    Provision,
    Reachability,
)
from atoll.ports.images import Tree, Trees
from atoll.wire.words.sandboxes import Access
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.zygote import messages as wire

NAME = "ext.namespaces"
WALL = "bubblewrap"
START_SECONDS = 60.0
STOP_SECONDS = 60.0
ASK_SECONDS = 10.0
HEALTH_SECONDS = 10.0
NO_TREES = f"{NAME} has no images here, only `{HOST}`"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of `ext.namespaces`: the zygote's socket, and the configuration of runtimes:
    upstream URLs of the broker by provider, and the agents. `trees` are the installed images."""

    socket: Path
    broker: tuple[tuple[str, str], ...] = ()
    agents: tuple[wire.Agent, ...] = ()
    trees: Trees | None = None
    contents_shared: bool = False


@dataclass(slots=True)
class Namespaces(ZygoteSnapshots):
    """The built-in default backend. Sandboxes keep running after `close`."""

    settings: Settings
    _link: ZygoteLink = field(init=False)

    def __post_init__(self) -> None:
        self._link = ZygoteLink(self.settings.socket)

    @property
    def name(self) -> str:
        """`ext.namespaces`."""
        return NAME

    def capabilities(self) -> Capabilities:
        """Return the abilities of sandboxes here, whose disk is kept over a stop. What this machine
        does not give is known once the zygote was asked."""
        report = self._link.reported
        return Capabilities(
            isolation=IsolationLevel.CONTAINER,
            ignores=() if report is None else tuple(unkept_fields(report)),
            abilities=frozenset({KEEP_SNAPSHOTS, KEEP_POOLS}),
            snapshots=promise_of(report, folders=True, shared=self.settings.contents_shared),
            pools=report is not None and report.root,
        )

    async def examine(self) -> None:
        """Ask the zygote what this machine gives, once for each connection."""
        await self._link.learn_report()

    def lacks(self, profile: Profile) -> Sequence[str]:
        """Return why the tree that is the profile's image is not here, or cannot run its agent."""
        if profile.image == HOST:
            return ()
        report, trees = self._link.reported, self.settings.trees
        if report is not None and not report.overlays:
            return (f"an image needs an overlay, and {NO_OVERLAY}",)
        if trees is None:
            return (NO_TREES,)
        try:
            check_agent(trees.look(profile.image), profile.agent)
        except AtollError as err:
            return (err.message,)
        return ()

    async def provision(self, request: Provision) -> Handle:
        """Start a sandbox, or attach to it again. Raises `Invalid` for an image that is not
        installed, or that lacks a program the sandbox's agent needs."""
        return await self._begin(request)

    async def build_pooled(self, request: Provision) -> Handle:
        """Build a sandbox up to the wall, whose init answers when this returns."""
        return await self._begin(request, pooled=True)

    async def _begin(self, request: Provision, *, pooled: bool = False) -> Handle:
        root = await self._root(request)
        if root is not None:
            request = replace(
                request, mounts=await asyncio.to_thread(choose_mounts, root, request.mounts)
            )
        start = msgspec.structs.replace(self._start(request, root), pooled=pooled)
        answer = await self._link.request(start, seconds=START_SECONDS)
        if not isinstance(answer, wire.Started):
            raise Failed(f"the zygote answered a start by {type(answer).__name__}")
        return _handle(answer.box)

    async def _root(self, request: Provision) -> Tree | None:
        """Return the tree that becomes the sandbox's root; None is the host's."""
        image = request.profile.image
        if image == HOST:
            return None
        if self.settings.trees is None:
            raise Invalid(NO_TREES, field="image")
        return await self.settings.trees.find(image)

    def _start(self, request: Provision, root: Tree | None) -> wire.Start:
        profile = request.profile
        brought = root.env if root is not None else ()
        return wire.Start(
            sandbox_id=request.sandbox_id,
            generation=request.generation,
            hostname=hostname(request.name),
            limits=limits_of(profile),
            views=tuple(wire.View(mount.source, mount.target) for mount in request.mounts),
            env=environment_with_image(
                request.sandbox_id, brought, request.env, mounts=request.mounts
            ),
            shell=shell_of(profile.shell, root),
            cwd=request.cwd,
            broker=self.settings.broker,
            agents=agents_of(request, self.settings.agents),
            writable=profile.workspace.access is not Access.READ_ONLY,
            bare=profile.workspace.access is Access.NONE,
            debug=profile.safety.debug,
            sudo=() if request.maintenance_seconds is not None else profile.safety.sudo,
            maintenance_seconds=request.maintenance_seconds,
            mounts=host_mounts_of(request),
            fresh=request.fresh,
            seed=request.seed,
            overlay=profile.root is RootMode.OVERLAY,
            tree=None if root is None else root.path,
        )

    async def wait_ready(self, handle: Handle) -> Reachability:
        """Probe the runtime's health. Raises `Failed` when it is gone or unhealthy."""
        data = dict(handle.data)
        try:
            await check_health(data["socket"], seconds=HEALTH_SECONDS)
        except Unavailable as err:
            raise Failed(
                f"sandbox {handle.sandbox_id} was started but its runtime does not answer: "
                f"{err.message}"
            ) from err
        return Reachability(address=f"unix:{data['socket']}", isolation=_isolation(data))

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        """End a sandbox, and without `keep_state` remove its files."""
        request = wire.Stop(handle.sandbox_id) if keep_state else wire.Destroy(handle.sandbox_id)
        answer = await self._link.request(request, seconds=STOP_SECONDS)
        if not isinstance(answer, wire.Cleaned):
            raise Failed(f"the zygote answered a teardown by {type(answer).__name__}")
        return CleanupReport(answer.removed, answer.leftovers)

    async def survey(self) -> list[Handle]:
        """Return every sandbox with a running runtime."""
        return [_handle(box) async for box in self._link.boxes(WALL) if box.live]

    async def why_ended(self, sandbox_id: SandboxId) -> str | None:
        """Return the zygote's record of why a sandbox ended."""
        async for box in self._link.boxes(WALL):
            if box.sandbox_id == sandbox_id:
                return box.reason or None if not box.live else None
        return None

    async def ended(self) -> AsyncIterator[Ended]:
        """Yield sandboxes that ended and were not started again since, as long as the same zygote
        runs. Raises `Unavailable` when another one answers, because sandboxes of the old one ended
        without a report."""
        while (death := await self._link.next_end()) is not None:
            if death.wall == WALL and not await self._link.lives(death.sandbox_id, WALL):
                yield Ended(SandboxId(death.sandbox_id), death.generation, death.reason)
        raise Unavailable("the zygote went away and is back: compare what lives")

    async def report(self) -> wire.Reported:
        """Return the walls that the zygote can build here. Raises `Unavailable`."""
        answer = await self._link.request(wire.Report(), seconds=ASK_SECONDS)
        if not isinstance(answer, wire.Reported):
            raise Failed(f"the zygote answered a report by {type(answer).__name__}")
        return answer

    async def close(self) -> None:
        """Close the connection."""
        self._link.close()


def make(setup: ExtensionSetup) -> Namespaces:
    """Make the extension of a home: its entry point."""
    return Namespaces(
        Settings(
            socket=setup.home / "run" / "zygote.sock",
            broker=setup.upstreams,
            agents=setup.agents,
            trees=FoundTrees(setup.home / "images"),
            contents_shared=setup.contents_shared,
        )
    )


def _handle(box: wire.Box) -> Handle:
    data = (
        ("socket", box.socket),
        ("host_uid", str(box.host_uid)),
        ("init", box.init),
        ("degraded", "\n".join(box.degraded)),
    )
    return Handle(SandboxId(box.sandbox_id), box.generation, NAME, data)


def _isolation(data: dict[str, str]) -> Isolation:
    return Isolation(
        level=IsolationLevel.CONTAINER,
        mechanism="bubblewrap",
        degraded=tuple(filter(None, data.get("degraded", "").split("\n"))),
        host_uid=int(data["host_uid"]),
        init=data.get("init", ""),
    )
