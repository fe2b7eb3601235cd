"""`ext.in-memory`: a backend without an environment, for tests and for work on Atoll itself.

It keeps the Extension port's promises, starts nothing, and fails wherever a test asks it
to. Its addresses lead nowhere.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import StrEnum

from atoll.domain.errors import AtollError, Conflict, Failed
from atoll.domain.ids import SandboxId
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import (
    KEEP_POOLS,
    Capabilities,
    CleanupReport,
    Ended,
    ExtensionSetup,
    Handle,
    Provision,
    Reachability,
)
from atoll.wire.words.walls import IsolationLevel

NAME = "ext.in-memory"
MAX_UNREAD_DEATHS = 1024
NOWHERE = "unix:/nonexistent/runtime.sock"
RECORDS_ONLY = (
    "it is for tests and for work on Atoll itself: it keeps records and starts nothing, so no "
    "sandbox of it is ever ready"
)


class FailurePoint(StrEnum):
    """A call at which a test can inject a failure."""

    PROVISION = "provision"
    BUILD_POOLED = "build_pooled"
    WAIT_READY = "wait_ready"
    TEARDOWN = "teardown"
    SURVEY = "survey"


@dataclass(slots=True)
class _Place:
    generation: int
    live: bool
    maintenance: bool = False
    pooled: Provision | None = None
    reason: str | None = None  # of its end, where it ended by itself


@dataclass(slots=True)
class InMemory:
    """A backend of dictionaries. `address` is the address of every sandbox. With a `gate` every
    provision waits until a test sets that event. Several stand beside each other by other names;
    `able` is what this one says of itself, `left` what every teardown leaves."""

    address: str = NOWHERE
    called: str = NAME
    able: Capabilities = field(
        default_factory=lambda: Capabilities(
            IsolationLevel.NONE, compose=True, abilities=frozenset({KEEP_POOLS}), pools=True
        )
    )
    left: tuple[str, ...] = ()
    gate: asyncio.Event | None = None
    provisioned: list[Provision] = field(default_factory=list)
    _places: dict[SandboxId, _Place] = field(default_factory=dict)
    _failures: dict[FailurePoint, list[AtollError]] = field(default_factory=dict)
    _deaths: list[Ended] = field(default_factory=list)
    _stirred: asyncio.Event = field(default_factory=asyncio.Event)

    def fail(self, point: FailurePoint, error: AtollError, *, times: int = 1) -> None:
        """Make the next `times` calls at `point` raise `error`."""
        self._failures.setdefault(point, []).extend([error] * times)

    def die(self, sandbox_id: SandboxId, reason: str = "killed by a test") -> None:
        """End a running environment as if it had ended by itself. Raises `KeyError` for an unknown
        one."""
        place = self._places[sandbox_id]
        place.live = False
        if place.maintenance:
            return
        place.reason = reason
        self._deaths.append(Ended(sandbox_id, place.generation, reason))
        del self._deaths[:-MAX_UNREAD_DEATHS]
        self._stirred.set()

    def lives(self, sandbox_id: SandboxId) -> bool:
        """Return whether a sandbox runs."""
        place = self._places.get(sandbox_id)
        return place is not None and place.live

    def kept(self, sandbox_id: SandboxId) -> bool:
        """Return whether a sandbox's state is kept, running or not."""
        return sandbox_id in self._places

    def _raise_injected(self, point: FailurePoint) -> None:
        waiting = self._failures.get(point)
        if waiting:
            raise waiting.pop(0)

    @property
    def name(self) -> str:
        """`ext.in-memory`, unless it is called otherwise."""
        return self.called

    @property
    def trouble(self) -> str | None:
        """Return what it is, where its address leads nowhere."""
        return RECORDS_ONLY if self.address == NOWHERE else None

    def capabilities(self) -> Capabilities:
        """Return the abilities of this backend."""
        return self.able

    async def provision(self, request: Provision) -> Handle:
        """Record a sandbox as running. Raises `Conflict` while another generation lives."""
        if self.gate is not None:
            await self.gate.wait()
        self._raise_injected(FailurePoint.PROVISION)
        place = self._places.get(request.sandbox_id)
        maintenance = request.maintenance_seconds is not None
        if place is not None and place.live and place.maintenance != maintenance:
            if maintenance:
                raise Conflict(f"sandbox {request.sandbox_id} runs: read what it has from itself")
            place.live = False
        if place is not None and place.live and place.generation != request.generation:
            raise Conflict(
                f"sandbox {request.sandbox_id} lives in generation {place.generation}: "
                "stop it first"
            )
        self.provisioned.append(request)
        self._places[request.sandbox_id] = _Place(request.generation, True, maintenance)
        return self._handle(request.sandbox_id, request.generation)

    async def build_pooled(self, request: Provision) -> Handle:
        """Record a pooled sandbox as running. Raises `Conflict` where a sandbox is or was."""
        if self.gate is not None:
            await self.gate.wait()
        self._raise_injected(FailurePoint.BUILD_POOLED)
        place = self._places.get(request.sandbox_id)
        if place is not None and place.pooled is None:
            raise Conflict(
                f"sandbox {request.sandbox_id} has files: no pooled sandbox can take its place"
            )
        self._places[request.sandbox_id] = _Place(request.generation, True, pooled=request)
        return self._handle(request.sandbox_id, request.generation)

    def pooled_requests(self) -> list[Provision]:
        """Return the requests of all pooled environments that run."""
        places = self._places.values()
        return [place.pooled for place in places if place.live and place.pooled is not None]

    async def why_ended(self, sandbox_id: SandboxId) -> str | None:
        """Return why a sandbox ended by itself."""
        place = self._places.get(sandbox_id)
        return place.reason if place is not None else None

    async def wait_ready(self, handle: Handle) -> Reachability:
        """Return at once. Raises `Failed` for a sandbox that does not live."""
        self._raise_injected(FailurePoint.WAIT_READY)
        if not self.lives(handle.sandbox_id):
            raise Failed(f"sandbox {handle.sandbox_id} is not there: provision it first")
        isolation = Isolation(IsolationLevel.NONE, "in-memory")
        return Reachability(self.address, isolation)

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        """Forget a sandbox, or with its state kept only that it runs."""
        self._raise_injected(FailurePoint.TEARDOWN)
        place = self._places.get(handle.sandbox_id)
        removed = []
        if place is not None and place.live:
            place.live = False
            removed.append("environment")
        if place is not None and not keep_state:
            del self._places[handle.sandbox_id]
            removed.append("state")
        return CleanupReport(tuple(removed), self.left)

    async def survey(self) -> list[Handle]:
        """Return every running environment."""
        self._raise_injected(FailurePoint.SURVEY)
        return [
            self._handle(sandbox_id, place.generation)
            for sandbox_id, place in self._places.items()
            if place.live
        ]

    async def ended(self) -> AsyncIterator[Ended]:
        """Yield the ends caused by `die` of environments that were not started again since."""
        while True:
            while self._deaths:
                death = self._deaths.pop(0)
                place = self._places.get(death.sandbox_id)
                if place is None or not place.live:
                    yield death
            self._stirred.clear()
            await self._stirred.wait()

    def _handle(self, sandbox_id: SandboxId, generation: int) -> Handle:
        return Handle(sandbox_id, generation, self.called)


def make(_setup: ExtensionSetup) -> InMemory:
    """Make an empty backend; the extension's entry point."""
    return InMemory()
