"""An Extension over a FarBackend: a runtime here, its sandbox there, a link between them.

The zygote starts the runtime and keeps its record; the backend starts the far end. Both are found
by sandbox and generation, so each step may be repeated.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from atoll.adapters.linked.carriers import CarriedLink, Carriers
from atoll.adapters.linked.end_reasons import explain_end
from atoll.adapters.zygote.environment import environment_with_image
from atoll.adapters.zygote.link import ZygoteLink
from atoll.adapters.zygote.probe import check_health
from atoll.adapters.zygote.start import agents_of, hostname
from atoll.domain.errors import AtollError, Conflict, Failed, Invalid, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.profile.demands import MOUNTS, PTYS, ROOT, SUDO
from atoll.domain.profile.profile import Profile
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import (
    Capabilities,
    CleanupReport,
    Ended,
    Handle,
    JudgesProfiles,
    Mount,
    Provision,
    Reachability,
    RentedPlace,
    Rents,
)
from atoll.ports.far import (
    FarBackend,
    FarBox,
    FarMirrors,
    FarPlace,
    FarRelocates,
    LinkTerms,
)
from atoll.wire.link.handshake import KEY_BYTES
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.zygote import messages as wire

WALL: Final = "link"
START_SECONDS = 60.0
STOP_SECONDS = 60.0
READY_SECONDS = 130.0
"""A runtime answers once the first stream came and init said READY."""

REASON_SECONDS, REASON_LOOKS = 2.0, 20

UNPROXIED = ("NO_PROXY", "no_proxy")
GRACE_SECONDS = 600
MAINTENANCE_GRACE_SECONDS = 60

IGNORED = (
    (MOUNTS, "folders of this machine cannot be mounted on another"),
    (ROOT, "what is above its root cannot be written there"),
    (SUDO, "no process of this machine may give privilege there"),
    (PTYS, "terminals of another machine are bounded by that machine alone"),
)

_ISOLATION = "isolation."
_FAR = "far."
_LIVE = "live"


@dataclass(frozen=True, slots=True)
class LinkedSettings:
    """The home's directory, and the configuration of runtimes (see `namespaces.Settings`)."""

    home: Path
    broker: tuple[tuple[str, str], ...] = ()
    agents: tuple[wire.Agent, ...] = ()
    grace_seconds: int = GRACE_SECONDS


@dataclass(slots=True)
class LinkedExtension:
    """`ports.Extension` over a backend of foreign machines."""

    settings: LinkedSettings
    backend: FarBackend
    _link: ZygoteLink = field(init=False)
    _carriers: Carriers = field(init=False)
    _under_way: dict[tuple[str, int], asyncio.Task[Handle]] = field(default_factory=dict)
    _lost: asyncio.Queue[Ended] = field(default_factory=asyncio.Queue)
    _machines_lost: dict[SandboxId, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._link = ZygoteLink(self.settings.home / "run" / "zygote.sock")
        self._carriers = Carriers(self.backend.carry, self.settings.home / "links", self._end_lost)

    @property
    def name(self) -> str:
        """The backend's name."""
        return self.backend.name

    def capabilities(self) -> Capabilities:
        """Return the backend's abilities, and what no machine but this one can act on."""
        able = self.backend.capabilities()
        return replace(able, ignores=(*IGNORED, *able.ignores))

    def lacks(self, profile: Profile) -> Sequence[str]:
        """Return what the backend cannot give of a profile."""
        return self.backend.lacks(profile) if isinstance(self.backend, JudgesProfiles) else ()

    async def provision(self, request: Provision) -> Handle:
        """Start both ends, or attach to what runs. Raises `Invalid`, `Conflict`, `Failed`,
        `Unavailable`."""
        key = (request.sandbox_id, request.generation)
        task = self._under_way.get(key)
        if task is None:
            # Owned by its callers: the first one removes it, all of them wait for it.
            task = asyncio.get_running_loop().create_task(self._provision(request))
            self._under_way[key] = task
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await asyncio.shield(task)

    async def _provision(self, request: Provision) -> Handle:
        await self._forget_loss(request.sandbox_id)
        if request.host_mounts:
            raise Invalid(
                f"{self.name} is another machine: folders of this one cannot be mounted there",
                field="mounts",
            )
        box = await self._box(request.sandbox_id)
        if box is not None and box.live:
            handle = await self._attach(request, box)
            if handle is not None:
                return handle
            box = None
        place = None
        if box is not None and box.generation == request.generation and not request.fresh:
            place = await self.backend.attach(request)
        if place is not None and request.maintenance_seconds is not None:
            raise Conflict(
                f"the programs of sandbox {request.sandbox_id} still run on their machine: start it"
            )
        key = "" if place is not None else secrets.token_hex(KEY_BYTES)
        if place is None:
            place = await self.backend.provision(request, self._terms(request, key))
        try:
            started = await self._request(self._start(request, place, key))
        except BaseException:
            # Nothing half-built stays; files of an earlier start do.
            with suppress(AtollError):
                await self.backend.teardown(place.box, keep_state=True)
            raise
        self._carriers.begin(CarriedLink(place.box, started.box.link))
        return _handle(started.box)

    async def _attach(self, request: Provision, box: wire.Box) -> Handle | None:
        """Return the handle of what runs, when it is what is asked for; None once a maintenance
        start that was in the way is ended."""
        if box.maintenance and request.maintenance_seconds is None:
            await self._tear_down(_far_of(box), keep_state=True)
            return None
        if not box.maintenance and request.maintenance_seconds is not None:
            raise Conflict(f"sandbox {request.sandbox_id} runs: read what it has from itself")
        if box.generation != request.generation:
            raise Conflict(
                f"sandbox {request.sandbox_id} lives in generation {box.generation}, not "
                f"{request.generation}: stop it first"
            )
        place = await self.backend.attach(request)
        if place is None:
            await self._tear_down(_far_of(box), keep_state=True)
            return None
        self._carriers.begin(CarriedLink(place.box, box.link))
        return _handle(box)

    def _terms(self, request: Provision, key: str) -> LinkTerms:
        maintenance = request.maintenance_seconds is not None
        seconds = MAINTENANCE_GRACE_SECONDS if maintenance else self.settings.grace_seconds
        return LinkTerms(bytes.fromhex(key), seconds)

    def _start(self, request: Provision, place: FarPlace, key: str) -> wire.Link:
        env = environment_with_image(
            request.sandbox_id,
            place.env,
            request.env,
            mounts=request.mounts,
            direct=place.reached,
        )
        env = tuple(
            (name, ",".join((value, *place.reached)) if name in UNPROXIED else value)
            for name, value in env
        )
        return wire.Link(
            sandbox=wire.Start(
                sandbox_id=request.sandbox_id,
                generation=request.generation,
                hostname=hostname(request.name),
                env=env,
                shell=request.profile.shell,
                cwd=request.cwd,
                broker=self.settings.broker,
                agents=agents_of(request, self.settings.agents, own_etc=place.own_etc),
                maintenance_seconds=request.maintenance_seconds,
            ),
            key=key,
            grace_seconds=self._terms(request, "00" * KEY_BYTES).grace_seconds,
            backend=self.name,
            init=place.init,
            data=_data_for_zygote(place, request.mounts),
        )

    async def wait_ready(self, handle: Handle) -> Reachability:
        """Wait until the runtime answers, whose link is up then. Raises `Failed` when it is gone
        or unhealthy, and as soon as its link is refused."""
        data = dict(handle.data)
        try:
            await self._wait_answer(handle.sandbox_id, data["socket"])
        except (Unavailable, KeyError) as err:
            why = await self._reason(handle.sandbox_id) or str(err)
            raise Failed(
                f"sandbox {handle.sandbox_id} was started but its runtime does not answer: {why}"
            ) from err
        return Reachability(address=f"unix:{data['socket']}", isolation=_isolation(data))

    async def _wait_answer(self, sandbox_id: SandboxId, path: str) -> None:
        loop = asyncio.get_running_loop()
        # Both owned here: cancelled below.
        health = loop.create_task(check_health(path, seconds=READY_SECONDS))
        refusal = loop.create_task(self._carriers.wait_refused(sandbox_id))
        both = (health, refusal)
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not health.done():
                raise Failed(f"sandbox {sandbox_id} was started, and then: {refusal.result()}")
            health.result()
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _reason(self, sandbox_id: SandboxId) -> str:
        """Return why a runtime ended, which the zygote learns a moment later; empty for one that
        did not end."""
        for _ in range(REASON_LOOKS):
            if lost := self._machines_lost.get(sandbox_id):
                return lost
            box = await self._box(sandbox_id)
            if box is None or box.reason:
                return "" if box is None else box.reason
            await asyncio.sleep(REASON_SECONDS / REASON_LOOKS)
        return ""

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        """End both ends, and without `keep_state` remove the files."""
        far = _far(handle.sandbox_id, handle.generation, handle.data)
        if not far.data:
            box = await self._box(handle.sandbox_id)
            far = far if box is None else _far(handle.sandbox_id, box.generation, box.data)
        far = replace(far, host=handle.host)
        return await self._tear_down(far, keep_state=keep_state)

    async def _tear_down(self, far: FarBox, *, keep_state: bool) -> CleanupReport:
        self._machines_lost.pop(far.sandbox_id, None)
        box = await self._box(far.sandbox_id)
        if keep_state and box is not None and not box.live and box.reason:
            # Its runtime was lost. The programs outlive that: a start finds them, until the far
            # end's grace is over.
            await self._carriers.end(far.sandbox_id)
            return CleanupReport()
        request = wire.Stop(far.sandbox_id) if keep_state else wire.Destroy(far.sandbox_id)
        # The runtime first, while its link is carried: it ends its programs in order.
        near = await self._link.request(request, seconds=STOP_SECONDS)
        if not isinstance(near, wire.Cleaned):
            raise Failed(f"the zygote answered a teardown by {type(near).__name__}")
        await self._carriers.end(far.sandbox_id)
        away = await self.backend.teardown(far, keep_state=keep_state)
        return CleanupReport(near.removed + away.removed, near.leftovers + away.leftovers)

    async def survey(self) -> list[Handle]:
        """Return every sandbox with a running runtime, and carry its link."""
        handles = []
        async for box in self._link.boxes(WALL):
            if box.live and box.backend == self.name:
                self._carriers.begin(CarriedLink(_far_of(box), box.link))
                handles.append(_handle(box))
        return handles

    async def refresh(self, source: str) -> None:
        """Bring the content of a live mount's source to the machines of its sandboxes. Does nothing
        for a backend whose sandboxes see this machine's files."""
        if not isinstance(self.backend, FarMirrors):
            return
        holding = [
            _far_of(box)
            async for box in self._link.boxes(WALL)
            if box.live and box.backend == self.name and source in _live_of(box)
        ]
        if holding:
            await self.backend.refresh(holding, source)

    async def ended(self) -> AsyncIterator[Ended]:
        """Yield sandboxes that ended and were not started again since. The cause of one end keeps
        no other waiting."""
        loop = asyncio.get_running_loop()
        # All of them are owned here, and cancelled below.
        death, lost = loop.create_task(self._next_death()), loop.create_task(self._next_lost())
        explained: set[asyncio.Task[Ended | None]] = set()
        try:
            while True:
                tasks = (death, lost, *explained)
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if death.done():
                    explained.add(loop.create_task(self._explain(death.result())))
                    death = loop.create_task(self._next_death())
                if lost.done():
                    end = lost.result()
                    lost = loop.create_task(self._next_lost())
                    yield end
                for task in [task for task in explained if task.done()]:
                    explained.discard(task)
                    if (reported := task.result()) is not None:
                        yield reported
        finally:
            for waiting in (death, lost, *explained):
                waiting.cancel()
            await asyncio.gather(death, lost, *explained, return_exceptions=True)

    async def _next_death(self) -> wire.Ended:
        while (death := await self._link.next_end()) is not None:
            if death.wall != WALL or not await self._is_ours(death.sandbox_id):
                continue
            if not await self._link.lives(death.sandbox_id, WALL):
                return death
        raise Unavailable("the zygote went away and is back: compare what lives")

    async def _explain(self, death: wire.Ended) -> Ended | None:
        """Return an end with its cause; None when the sandbox was started again meanwhile."""
        await self._carriers.end(death.sandbox_id)
        box = await self._box(death.sandbox_id)
        reason = death.reason
        if box is not None:
            reason = await explain_end(self.backend, _far_of(box), reason)
        if await self._link.lives(death.sandbox_id, WALL):
            return None
        return Ended(SandboxId(death.sandbox_id), death.generation, reason)

    async def _forget_loss(self, sandbox_id: SandboxId) -> None:
        """Have no carrier end the former runtime, or report that, once the next start has begun."""
        if self._machines_lost.pop(sandbox_id, None) is not None:
            await self._carriers.end(sandbox_id)

    async def _next_lost(self) -> Ended:
        while (lost := await self._lost.get()).sandbox_id not in self._machines_lost:
            pass  # it was started again meanwhile, and that run is another
        return lost

    async def _end_lost(self, box: FarBox, reason: str) -> None:
        """End the runtime of a sandbox whose machine is gone: nothing is left that it could
        reach."""
        self._machines_lost[box.sandbox_id] = reason
        with suppress(AtollError):
            await self._link.request(wire.Stop(box.sandbox_id), seconds=STOP_SECONDS)
        self._lost.put_nowait(Ended(box.sandbox_id, box.generation, reason))

    async def why_ended(self, sandbox_id: SandboxId) -> str | None:
        """Return why a sandbox ended: what befell its machine, else the zygote's record."""
        if lost := self._machines_lost.get(sandbox_id):
            return lost
        box = await self._box(sandbox_id)
        if box is None or box.live or not box.reason:
            return None
        return await explain_end(self.backend, _far_of(box), box.reason)

    def trouble_of(self, sandbox_id: SandboxId) -> str | None:
        """Return why the machine of a sandbox cannot be reached now; None while it can."""
        return self._carriers.trouble(sandbox_id)

    async def rented(self) -> list[RentedPlace]:
        """Return the machines that the backend rents; none for a backend of hosts."""
        return await self.backend.rented() if isinstance(self.backend, Rents) else []

    async def end_rented(self, place: RentedPlace) -> bool:
        """End a machine that is rented."""
        return isinstance(self.backend, Rents) and await self.backend.end_rented(place)

    async def close(self) -> None:
        """Close our connections. Sandboxes keep running."""
        await self._carriers.close()
        self._link.close()
        await self.backend.close()

    async def _is_ours(self, sandbox_id: str) -> bool:
        box = await self._box(sandbox_id)
        return box is None or box.backend == self.name

    async def _box(self, sandbox_id: str) -> wire.Box | None:
        async for box in self._link.boxes(WALL):
            if box.sandbox_id == sandbox_id:
                return box
        return None

    async def _request(self, request: wire.Link) -> wire.Started:
        answer = await self._link.request(request, seconds=START_SECONDS)
        if not isinstance(answer, wire.Started):
            raise Failed(f"the zygote answered a link by {type(answer).__name__}")
        return answer


@dataclass(slots=True)
class RelocatingExtension(LinkedExtension):
    """A `LinkedExtension` whose backend also relocates."""

    async def copy_kept(self, handle: Handle, target: str) -> None:
        """Have what is kept at another host, too. Raises `Conflict` while it runs, `Failed`,
        `Unavailable`."""
        box = await self._box(handle.sandbox_id)
        if box is not None and box.live:
            raise Conflict(f"sandbox {handle.sandbox_id} runs: stop it first")
        far = FarBox(handle.sandbox_id, handle.generation, host=handle.host)
        await self._relocating.copy_kept(far, target)

    async def drop_kept(self, handle: Handle, host: str) -> CleanupReport:
        """Remove what is kept at a host that is not its place."""
        far = FarBox(handle.sandbox_id, handle.generation, host=host)
        return await self._relocating.drop_kept(far, host)

    @property
    def _relocating(self) -> FarRelocates:
        if not isinstance(self.backend, FarRelocates):
            raise Failed(f"{self.name} cannot bring files from one host to another")
        return self.backend


def _handle(box: wire.Box) -> Handle:
    data = (("socket", box.socket), *box.data)
    return Handle(SandboxId(box.sandbox_id), box.generation, box.backend, data)


def _far_of(box: wire.Box) -> FarBox:
    return _far(SandboxId(box.sandbox_id), box.generation, box.data)


def _live_of(box: wire.Box) -> list[str]:
    return dict(box.data).get(_LIVE, "").split("\n")


def _data_for_zygote(place: FarPlace, mounts: tuple[Mount, ...]) -> tuple[tuple[str, str], ...]:
    """Return what the zygote keeps of a far sandbox: its place, what its wall was found to be, and
    the folders of ours that it has live copies of."""
    isolation = place.isolation
    return (
        (f"{_ISOLATION}level", isolation.level.value),
        (f"{_ISOLATION}mechanism", isolation.mechanism),
        (f"{_ISOLATION}degraded", "\n".join(isolation.degraded)),
        (_LIVE, "\n".join(mount.source for mount in mounts if mount.live)),
        *((f"{_FAR}{key}", value) for key, value in place.box.data),
    )


def _far(sandbox_id: SandboxId, generation: int, data: tuple[tuple[str, str], ...]) -> FarBox:
    away = ((name, value) for name, value in data if name.startswith(_FAR))
    return FarBox(
        sandbox_id, generation, tuple((name.removeprefix(_FAR), value) for name, value in away)
    )


def _isolation(data: dict[str, str]) -> Isolation:
    return Isolation(
        level=IsolationLevel(data.get(f"{_ISOLATION}level", IsolationLevel.POLICY)),
        mechanism=data.get(f"{_ISOLATION}mechanism", ""),
        degraded=tuple(filter(None, data.get(f"{_ISOLATION}degraded", "").split("\n"))),
    )
