"""Admission of workers: who may do what, and whether a route would place a new one now.

The decision itself is made, and kept, when the sandbox of the worker is admitted.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from atoll.domain.agent.acp.added import is_added
from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.route.decision import Decision, no_route
from atoll.domain.sandbox.sandbox import CreateSandbox, Sandbox
from atoll.domain.worker.create import CreateWorker
from atoll.services.workers.runtime_host import wanted_sandbox

_FIELDS = {"route.strategy": "selection.strategy", "route.extension": "backend"}
"""The fields of a request to routes, as a create of a worker names them."""


class Explained(Protocol):
    """Sandboxes, as far as admission needs them."""

    async def explain(self, caller: Principal, request: CreateSandbox) -> Decision:
        """Return the decision that a create would make now. Raises what the create raises."""
        ...

    async def get(self, caller: Principal, ref: str) -> Sandbox:
        """Return a sandbox. Raises `NotFound`."""
        ...

    async def place_worker(
        self, caller: Principal, request: CreateSandbox, *, walled: bool
    ) -> Decision:
        """Return the decision about a worker, which a desktop could take. Raises as `explain`."""
        ...


class WorkerAdmission:
    """The judgement of requests for new workers. `find_agent` raises `Invalid` for
    an agent that is not known."""

    def __init__(
        self, sandboxes: Explained, find_agent: Callable[[str], object] = lambda _name: None
    ) -> None:
        self._sandboxes = sandboxes
        self._find_agent = find_agent

    async def check(self, caller: Principal, request: CreateWorker) -> None:
        """Check that some backend takes the worker. Raises `NoRoute` with the reasons of every
        candidate, `Invalid`, and `NotFound` for the profile or the sandbox to move into."""
        if is_added(request.agent):
            self._find_agent(request.agent)
        if request.named_sandbox is not None:
            await self._check_sandbox(caller, request.named_sandbox)
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
            decision = await self._sandboxes.explain(caller, wanted)
            if decision.chosen is None:
                decision = await self._sandboxes.place_worker(caller, wanted, walled=walled)
        except Invalid as err:
            field = None if err.field is None else _FIELDS.get(err.field, err.field)
            raise Invalid(err.message, code=err.code, field=field) from err
        if decision.chosen is None:
            raise no_route(decision, field="backend" if request.backend else "selection")

    async def _check_sandbox(self, caller: Principal, sandbox_id: str) -> None:
        """Check that the sandbox to move into is the caller's. A missing one answers alike."""
        with suppress(NotFound):
            found = await self._sandboxes.get(caller, sandbox_id)
            if found.id == sandbox_id and found.owner == caller.id:
                return
        raise NotFound(f"You have no sandbox {sandbox_id}.", field="workspace_ref")


def check_right(caller: Principal, capability: Capability) -> None:
    """Check that a caller has a right on workers. Raises `Forbidden`."""
    if not caller.may(capability) or caller.guest_access is not None:
        raise Forbidden(f"You may not do that: it takes {capability.value}.")
