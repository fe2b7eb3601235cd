"""Admission of workers: whether a route would place a new one now.

The decision itself is made, and kept, when the sandbox of the worker is admitted.
"""

from contextlib import suppress
from typing import Protocol

from atoll.domain.agents.acp.added import is_added
from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid, NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.routes.decision import Decision, no_route
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.sandboxes.sandbox import RUNNING, CreateSandbox, Sandbox, keeps_files
from atoll.domain.workers.create import CreateWorker
from atoll.ports import AgentLayers, RuntimeClient
from atoll.services.sandboxes.agent_checks import AgentChecks
from atoll.services.workers.runtime_host import wanted_sandbox
from atoll.wire.words.sandboxes import State

_FIELDS = {"route.strategy": "selection.strategy", "route.extension": "backend"}
"""The fields of a request to routes, as a create of a worker names them."""

_BEGINNING = frozenset({State.REQUESTED, State.PROVISIONING})


class PlacementDecisions(Protocol):
    """The decision of where a worker goes."""

    async def explain(self, caller: Principal, request: CreateSandbox) -> Decision:
        """Return the decision that a create of a sandbox would make now. Raises what that
        raises."""
        ...

    async def place_worker(
        self, caller: Principal, request: CreateSandbox, *, walled: bool
    ) -> Decision:
        """Return the decision about a worker, which a desktop could take. Raises as `explain`."""
        ...


class ExistingSandboxes(Protocol):
    """Sandboxes that are there, as far as admission needs them."""

    async def get(self, caller: Principal, ref: str) -> Sandbox:
        """Return a sandbox. Raises `NotFound`."""
        ...


class ReachesRuntimes(Protocol):
    """Access to runtimes, as far as admission needs it."""

    async def runtime(self, caller: Principal, ref: str) -> tuple[Sandbox, RuntimeClient]:
        """Return a sandbox that runs, and a client of its runtime."""
        ...


class WorkerAdmission:
    """The judgement of requests for new workers. `agents` are those of this installation."""

    def __init__(
        self,
        placing: PlacementDecisions,
        sandboxes: ExistingSandboxes,
        agents: AgentLayers,
        *,
        access: ReachesRuntimes,
        checks: AgentChecks,
    ) -> None:
        self._placing = placing
        self._sandboxes = sandboxes
        self._access = access
        self._checks = checks
        self._agents = agents

    async def check(self, caller: Principal, request: CreateWorker) -> None:
        """Check that some backend takes the worker. Raises `NoRoute` with the reasons of every
        candidate, `Invalid`, also for an agent that is not installed, and `NotFound` for the
        profile, the repository or the sandbox to move into."""
        if is_added(request.agent):
            self._agents.known(request.agent)
        if request.named_sandbox is not None:
            await self._check_sandbox(caller, request.named_sandbox, request.agent)
            return
        if request.thread_id is not None and not request.on_desktop:
            raise Invalid(
                f"nobody knows the conversation {request.thread_id}: a new sandbox has none. Name "
                "the sandbox that has it by workspace_ref and codex_home_ref, or leave thread_id "
                "out",
                field="thread_id",
            )
        try:
            wanted, walled = wanted_sandbox(request), request.profile is not None
            decision = await self._placing.explain(caller, wanted)
            lacking = await self._missing_agent_error(request.agent)
            if decision.chosen is None or lacking is not None:
                decision = await self._placing.place_worker(caller, wanted, walled=walled)
            # A desktop has agents of its own.
            there = decision.chosen is not None and decision.chosen.extension == DESKTOP
            if lacking is not None and decision.chosen is not None and not there:
                raise lacking
        except Invalid as err:
            field = None if err.field is None else _FIELDS.get(err.field, err.field)
            raise Invalid(err.message, code=err.code, field=field) from err
        if decision.chosen is None:
            raise no_route(decision, field="backend" if request.backend else "selection")

    async def _missing_agent_error(self, agent: str) -> AtollError | None:
        """Return why a new sandbox here would not have an agent; None when it would."""
        try:
            await self._agents.mounts_for(agent)
        except (Forbidden, Invalid) as error:
            return error
        return None

    async def _check_sandbox(self, caller: Principal, sandbox_id: str, agent: str) -> None:
        """Check that the sandbox to move into is the caller's, with its files, and has the agent as
        far as it runs. A missing one answers alike."""
        sandbox = None
        with suppress(NotFound):
            sandbox = await self._sandboxes.get(caller, sandbox_id)
        if sandbox is None or sandbox.id != sandbox_id or sandbox.owner != caller.id:
            raise NotFound(f"You have no sandbox {sandbox_id}.", field="workspace_ref")
        if sandbox.state in RUNNING:
            _, client = await self._access.runtime(caller, sandbox_id)
            await self._checks.check_start(sandbox, client, agent)
        elif sandbox.state not in _BEGINNING and not keeps_files(sandbox):
            raise Conflict(
                f"Sandbox {sandbox.name} is {sandbox.state}: "
                "a worker moves into one with its files.",
                field="workspace_ref",
            )
