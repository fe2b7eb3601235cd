"""`ext.docker`: sandboxes that are hardened containers of a Docker daemon on this machine.

Asks the zygote for folders, uids and a runtime, and the Engine for the wall between them.
Everything is found by name and generation, so each step may be repeated, by several at once;
the zygote decides what lives, the Engine what surrounds it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from atoll.adapters.extensions.docker import engine as docker
from atoll.adapters.extensions.docker.builds import Builds
from atoll.adapters.extensions.docker.container import ContainerPlan, body, bounds, plan_of
from atoll.adapters.extensions.docker.containers import (
    GENERATION_LABEL,
    LET_GO,
    NAME,
    SANDBOX_LABEL,
    Containers,
)
from atoll.adapters.extensions.docker.ends import ContainerEnds
from atoll.adapters.extensions.docker.feed import ContainerEnd, Feed, Reconnection
from atoll.adapters.extensions.docker.images import ResolvedImage, check_image, find
from atoll.adapters.extensions.docker.limits import UNBOUNDED, find_unbounded
from atoll.adapters.extensions.docker.settings import DEFAULT_HOST, USUAL_RULES, BuildRules
from atoll.adapters.zygote.environment import environment_with_image
from atoll.adapters.zygote.link import ZygoteLink
from atoll.adapters.zygote.probe import check_health
from atoll.adapters.zygote.snapshots import ZygoteSnapshots, promise_of
from atoll.adapters.zygote.start import agents_of, host_mounts_of, hostname, limits_of
from atoll.adapters.zygote.unkept import unkept_limits
from atoll.domain.errors import AtollError, Conflict, Failed, NotFound, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.profile.demands import CPU, DISK, MEMORY, MOUNTS, PIDS, ROOT, SUDO
from atoll.domain.profile.profile import Profile
from atoll.domain.routes.candidate import ImageKind
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import (
    KEEP_POOLS,
    KEEP_SNAPSHOTS,
    Capabilities,
    CleanupReport,
    Ended,
    Handle,
    Provision,
    Reachability,
)
from atoll.wire.words.sandboxes import Access
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.zygote import messages as wire

WALL = "container"
IGNORED = (
    (ROOT, "the root of its containers is read-only"),
    (SUDO, "nothing may gain privilege in its containers"),
)
START_SECONDS = 60.0
STOP_SECONDS = 60.0
ASK_SECONDS = 10.0
HEALTH_SECONDS = 10.0
MAX_REPORTED = 1024
_LIMITS = {"memory": MEMORY, "cpu": CPU, "pids": PIDS}
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of `ext.docker`: sockets of daemon and zygote, the owner of the containers (`tag`
    begins their names, `installation` is in their labels), directories of archives and image
    recipes, limits of builds, and the configuration of runtimes (see `namespaces.Settings`)."""

    socket: Path
    tag: str
    archives: Path
    host: str = DEFAULT_HOST
    builds: BuildRules = USUAL_RULES
    broker: tuple[tuple[str, str], ...] = ()
    agents: tuple[wire.Agent, ...] = ()
    installation: str = ""
    contents_shared: bool = False


@dataclass(slots=True)
class Docker(ZygoteSnapshots):
    """The Docker backend. Sandboxes keep running after `close`."""

    settings: Settings
    _link: ZygoteLink = field(init=False)
    _engine: docker.Engine = field(init=False)
    _containers: Containers = field(init=False)
    _ends: ContainerEnds = field(init=False)
    _builds: Builds = field(init=False)
    _feed: Feed = field(init=False)
    _info: docker.Info | None = None
    _under_way: dict[tuple[str, int, bool], asyncio.Future[Handle]] = field(default_factory=dict)
    _reported: OrderedDict[tuple[str, int], None] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        docker.socket_path(self.settings.host)
        self._link = ZygoteLink(self.settings.socket)
        self._engine = docker.Engine(self.settings.host)
        self._containers = Containers(self._engine, self.settings.tag, self.settings.installation)
        self._ends = ContainerEnds(self._containers)
        self._builds = Builds(self._engine, self.settings.archives, self.settings.builds)
        self._feed = Feed(docker.Engine(self.settings.host), self._containers.label)

    @property
    def name(self) -> str:
        """`ext.docker`."""
        return NAME

    def capabilities(self) -> Capabilities:
        """Return the abilities of containers here, whose directories are kept over a stop. Raises
        `Failed` where no daemon listens, and for one that was found to give no wall."""
        if not docker.socket_path(self.settings.host).exists():
            raise Failed(f"no Docker daemon listens at {self.settings.host}: start it")
        if self._info is not None and (lack := self._lacks_wall(self._info)):
            raise Failed(lack)
        return Capabilities(
            isolation=IsolationLevel.CONTAINER,
            images=frozenset({ImageKind.OTHER}),
            fetches_images=True,
            ignores=(*IGNORED, *self._unkept()),
            abilities=frozenset({KEEP_SNAPSHOTS, KEEP_POOLS}),
            snapshots=promise_of(self._link.reported, shared=self.settings.contents_shared),
            pools=self._link.reported is not None and self._link.reported.root,
        )

    async def examine(self) -> None:
        """Ask the zygote what this machine gives, and the daemon what it can bound; each start asks
        the daemon again."""
        await self._link.learn_report()
        if self._info is None or self._lacks_wall(self._info):
            self._info = await self._engine.info()

    def _unkept(self) -> Iterator[tuple[str, str]]:
        """Yield each field that neither of them can act on, as far as they were asked."""
        report = self._link.reported
        if report is not None:
            yield from ((name, why) for name, why in unkept_limits(report) if name == DISK)
            if not report.root:
                yield MOUNTS, "a daemon follows links, from which only root's names are safe"
        if self._info is not None:
            named = _LIMITS.keys() & set(find_unbounded(self._info))
            yield from ((_LIMITS[one], UNBOUNDED) for one in sorted(named))

    def lacks(self, profile: Profile) -> Sequence[str]:
        """Return why the profile's image cannot be, as far as this is known without the daemon."""
        try:
            check_image(self._builds, profile.image)
        except AtollError as err:
            return (err.message,)
        return ()

    async def provision(self, request: Provision) -> Handle:
        """Start a container, or attach to it again. Raises `Invalid` for an image that cannot be
        used, `Failed` with the daemon's message, `Unavailable` without it or the zygote."""
        return await self._join(request)

    async def build_pooled(self, request: Provision) -> Handle:
        """Start a container whose init answers when this returns. Raises as `provision`."""
        return await self._join(request, pooled=True)

    async def _join(self, request: Provision, *, pooled: bool = False) -> Handle:
        key = (request.sandbox_id, request.generation)
        under_way = self._under_way.get((*key, pooled))
        if under_way is not None:
            return await asyncio.shield(under_way)
        future = self._under_way[*key, pooled] = asyncio.get_running_loop().create_future()
        self._reported.pop(key, None)
        self._ends.forget(request.sandbox_id)
        try:
            handle = await self._provision(request, pooled=pooled)
            future.set_result(handle)
        except AtollError as err:
            future.set_exception(err)
            future.exception()  # seen: the first caller receives it below
            raise
        finally:
            del self._under_way[*key, pooled]
            future.cancel()
        return handle

    async def _provision(self, request: Provision, *, pooled: bool) -> Handle:
        living = await self._box(request.sandbox_id)
        if living is not None and living.maintenance and request.maintenance_seconds is None:
            # Its container goes with it: the next one must not be mistaken for it.
            await self._tear_down(request.sandbox_id, keep_state=True)
            living = None
        if living is not None and living.live and living.generation != request.generation:
            raise Conflict(
                f"sandbox {request.sandbox_id} lives in generation {living.generation}, not "
                f"{request.generation}: stop it first"
            )
        info = await self._check_daemon()
        image = await find(self._builds, request.profile.image, request.report)
        if living is not None and living.live and living.pooled:
            await self._fit(request, image, info, pooled=pooled)
        start = self._start(request, image, pooled=pooled)
        answer = await self._link.request(
            wire.Serve(start, int(START_SECONDS)), seconds=START_SECONDS
        )
        if isinstance(answer, wire.Started):
            return self._handle(answer.box)
        if not isinstance(answer, wire.Awaited):
            raise Failed(f"the zygote answered a serve by {type(answer).__name__}")
        try:
            labels = self._containers.labels(request.sandbox_id, request.generation)
            plan = plan_of(request, image, answer, info=info, labels=labels, pooled=pooled)
            return self._handle(await self._start_container(request, plan))
        except BaseException:
            # Nothing half-built stays; files of an earlier start do.
            with suppress(AtollError):
                await self._tear_down(request.sandbox_id, keep_state=True)
            raise

    async def _fit(
        self, request: Provision, image: ResolvedImage, info: docker.Info, *, pooled: bool
    ) -> None:
        """Bound a container that waits as the request asks that takes it. One of another image, or
        that cannot be bounded, is removed."""
        container = self._containers.name(request.sandbox_id)
        with suppress(Conflict, NotFound):
            if await self._containers.runs(container, image.id):
                if not pooled:
                    await self._engine.update(container, bounds(request.profile, info))
                return
        await self._tear_down(request.sandbox_id, keep_state=False)

    async def _check_daemon(self) -> docker.Info:
        info = self._info = await self._engine.info()
        if lack := self._lacks_wall(info):
            raise Failed(lack)
        return info

    def _lacks_wall(self, info: docker.Info) -> str:
        """Return why the daemon's containers are no wall of ours; empty where they are."""
        if info.has("rootless"):
            return (
                f"the Docker daemon at {self.settings.host} is rootless: the uids of its "
                "containers are not ours to know. Use a daemon run by root, or ext.namespaces"
            )
        if not info.has("seccomp"):
            return (
                f"the Docker daemon at {self.settings.host} has no seccomp: it cannot build a "
                "wall. Use a kernel and daemon with it, or ext.namespaces"
            )
        return ""

    def _start(self, request: Provision, image: ResolvedImage, *, pooled: bool) -> wire.Start:
        profile = request.profile
        return wire.Start(
            sandbox_id=request.sandbox_id,
            generation=request.generation,
            hostname=hostname(request.name),
            limits=limits_of(profile, bounded_elsewhere=True),
            views=tuple(wire.View(mount.source, mount.target) for mount in request.mounts),
            mounts=host_mounts_of(request),
            writable=profile.workspace.access is not Access.READ_ONLY,
            bare=profile.workspace.access is Access.NONE,
            debug=profile.safety.debug,
            env=environment_with_image(
                request.sandbox_id, image.env, request.env, mounts=request.mounts
            ),
            shell=profile.shell,
            cwd=request.cwd,
            broker=self.settings.broker,
            agents=agents_of(request, self.settings.agents),
            fresh=request.fresh,
            seed=request.seed,
            maintenance_seconds=request.maintenance_seconds,
            pooled=pooled,
        )

    async def _start_container(self, request: Provision, plan: ContainerPlan) -> wire.Box:
        """Create and start the container, and wait until its init connects or the container
        ends."""
        await self._containers.run(request.sandbox_id, request.generation, body=body(plan))
        container = self._containers.name(request.sandbox_id)
        waiting = wire.Await(request.sandbox_id, request.generation)
        async with asyncio.TaskGroup() as tasks:
            connecting = tasks.create_task(self._answer_to(waiting))
            ended = tasks.create_task(self._containers.end_of(container))
            await asyncio.wait({connecting, ended}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done() and ended.result() == LET_GO:
                # Its caller refused it, and is about to say why.
                await asyncio.wait({connecting}, timeout=ASK_SECONDS)
            connecting.cancel()
            ended.cancel()
        if connecting.cancelled():
            raise Failed(
                f"the container of sandbox {request.sandbox_id} did not stand: {ended.result()}"
            )
        answer = connecting.result()
        if isinstance(answer, AtollError):
            raise answer
        if not isinstance(answer, wire.Started):
            raise Failed(f"the zygote answered an await by {type(answer).__name__}")
        return answer.box

    async def _answer_to(self, request: wire.Await) -> wire.Answer | AtollError:
        try:
            return await self._link.request(request, seconds=START_SECONDS + ASK_SECONDS)
        except AtollError as err:
            return err

    async def wait_ready(self, handle: Handle) -> Reachability:
        """Probe the runtime's health. Raises `Failed` when it is gone or unhealthy."""
        data = dict(handle.data)
        try:
            await check_health(data["socket"], seconds=HEALTH_SECONDS)
            lacking = await self._lacking()
        except Unavailable as err:
            raise Failed(
                f"sandbox {handle.sandbox_id} was started but its runtime does not answer: "
                f"{err.message}"
            ) from err
        degraded = (*filter(None, data["degraded"].split("\n")), *lacking)
        isolation = Isolation(
            level=IsolationLevel.CONTAINER,
            mechanism="docker",
            degraded=degraded,
            host_uid=int(data["host_uid"]),
            init=data["init"],
        )
        return Reachability(address=f"unix:{data['socket']}", isolation=isolation)

    async def _lacking(self) -> tuple[str, ...]:
        """Return the limits that this daemon's kernel cannot set; none while the daemon does not
        answer."""
        try:
            info = await self._engine.info()
        except AtollError as err:
            return (f"daemon: {err.message}",)
        return tuple(f"{name}: {UNBOUNDED}" for name in find_unbounded(info))

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        """End runtime and container, and without `keep_state` forget the files."""
        return await self._tear_down(handle.sandbox_id, keep_state=keep_state)

    async def _tear_down(self, sandbox_id: str, *, keep_state: bool) -> CleanupReport:
        # The runtime ends first: it writes its journal, and its end is no death to report.
        request = wire.Stop(sandbox_id) if keep_state else wire.Destroy(sandbox_id)
        answer = await self._link.request(request, seconds=STOP_SECONDS)
        if not isinstance(answer, wire.Cleaned):
            raise Failed(f"the zygote answered a teardown by {type(answer).__name__}")
        there = await self._containers.remove(self._containers.name(sandbox_id))
        removed = (*answer.removed, *(("container",) if there else ()))
        return CleanupReport(removed, answer.leftovers)

    async def survey(self) -> list[Handle]:
        """Return every sandbox of this home whose runtime lives. Containers without a sandbox are
        removed."""
        kept_sandboxes = {box.sandbox_id async for box in self._link.boxes(WALL)}
        try:
            containers = await self._containers.all(kept_sandboxes)
        except Unavailable as err:
            _log.warning("docker_away", host=self.settings.host, reason=err.message)
            containers = None
        # In this order: a container is made after its sandbox, so one without is left over.
        boxes = [box async for box in self._link.boxes(WALL)]
        if containers is not None:
            await self._sweep_ended(containers, boxes)
        return [self._handle(box) for box in boxes if box.live and box.runtime_pid]

    async def _sweep_ended(
        self, containers: list[docker.ListedContainer], boxes: list[wire.Box]
    ) -> None:
        """Remove containers whose sandbox does not live, and note how they ended."""
        living, with_container = {box.sandbox_id for box in boxes if box.live}, set[str]()
        for container in containers:
            sandbox_id = (container.labels or {}).get(SANDBOX_LABEL, "")
            with_container.add(sandbox_id)
            if sandbox_id not in living:
                await self._ends.note(sandbox_id, container.id)
                await self._containers.sweep(container.id)
        for box in boxes:
            if box.reason and not box.live and box.sandbox_id not in with_container:
                self._ends.note_removed(box.sandbox_id)

    async def why_ended(self, sandbox_id: SandboxId) -> str | None:
        """Return the zygote's record of why a sandbox ended, with what the daemon knew of its
        container."""
        box = await self._box(sandbox_id)
        if box is None or box.live or not box.reason:
            return None
        how = self._ends.of(sandbox_id)
        return f"{box.reason} ({how})" if how else box.reason

    async def _box(self, sandbox_id: str) -> wire.Box | None:
        async for box in self._link.boxes(WALL):
            if box.sandbox_id == sandbox_id:
                return box
        return None

    async def ended(self) -> AsyncIterator[Ended]:
        """Yield sandboxes that ended: those the zygote reports, and containers whose runtime did
        not notice. Raises `Unavailable` when another zygote answers, because ends under the old one
        are not reported."""
        while True:
            for report in await self._next_reports():
                if report is None:
                    raise Unavailable("the zygote went away and is back: compare what lives")
                death = await self._read_report(report)
                if death is not None and self._is_new(death):
                    yield death

    async def _next_reports(self) -> list[wire.Ended | ContainerEnd | Reconnection | None]:
        """Return the next reports of zygote and daemon. Cancelling it loses nothing."""
        async with asyncio.TaskGroup() as tasks:
            waits = (
                tasks.create_task(self._link.next_end()),
                tasks.create_task(self._feed.next()),
            )
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in waits:
                each.cancel()
        return [each.result() for each in waits if not each.cancelled()]

    async def _read_report(self, report: wire.Ended | ContainerEnd | Reconnection) -> Ended | None:
        try:
            match report:
                case wire.Ended():
                    return await self._end_of_runtime(report)
                case ContainerEnd():
                    return await self._end_of_container(report)
                case Reconnection():
                    self._info = None
                    await self.survey()
        except AtollError as err:
            _log.warning("death_not_looked_at", report=str(report), reason=err.message)
        return None

    async def _end_of_runtime(self, report: wire.Ended) -> Ended | None:
        if report.wall != WALL or await self._link.lives(report.sandbox_id, WALL):
            return None
        container = self._containers.name(report.sandbox_id)
        try:
            how = await self._ends.settle(report.sandbox_id, container)
            await self._containers.sweep_generation(report.sandbox_id, report.generation)
        except AtollError as err:
            how = err.message
        reason = self._with_causes(report.reason, how)
        return Ended(SandboxId(report.sandbox_id), report.generation, reason)

    def _with_causes(self, reason: str, how: str = "") -> str:
        """Return a reason with how its container ended, and what befell the daemon."""
        causes = "; ".join(filter(None, (how, self._feed.trouble)))
        return f"{reason} ({causes})" if causes else reason

    async def _end_of_container(self, report: ContainerEnd) -> Ended | None:
        labels = dict(report.labels)
        sandbox_id, generation = labels.get(SANDBOX_LABEL, ""), labels.get(GENERATION_LABEL, "")
        box = await self._box(sandbox_id)
        if box is None or not box.live or not box.runtime_pid or str(box.generation) != generation:
            return None
        # Its runtime is still there: it may be on its way out, or stuck. Either way it ends now.
        await self._link.request(wire.Stop(sandbox_id), seconds=STOP_SECONDS)
        ended = 0 if box.pooled else box.generation
        await self._containers.sweep_generation(sandbox_id, ended)
        cause = f"its container ended with status {report.exit_code or 'unknown'}"
        reason = self._with_causes(cause)
        return Ended(SandboxId(sandbox_id), ended, reason)

    def _is_new(self, death: Ended) -> bool:
        """Return whether this end was not reported before."""
        key = (death.sandbox_id, death.generation)
        if key in self._reported:
            return False
        self._reported[key] = None
        if len(self._reported) > MAX_REPORTED:
            self._reported.popitem(last=False)
        return True

    async def close(self) -> None:
        """Close the connections."""
        self._link.close()
        await self._feed.close()
        await self._feed.engine.close()
        await self._engine.close()

    def _handle(self, box: wire.Box) -> Handle:
        data = (
            ("socket", box.socket),
            ("host_uid", str(box.host_uid)),
            ("init", box.init),
            ("degraded", "\n".join(box.degraded)),
            ("container", self._containers.name(box.sandbox_id)),
        )
        return Handle(SandboxId(box.sandbox_id), box.generation, NAME, data)
