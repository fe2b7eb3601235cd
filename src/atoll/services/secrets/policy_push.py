"""Deliveries: every change of a secret or an approval reaches the runtimes it concerns.

`changed` tells them at once and returns when they know, or after a few seconds; whoever could
not be told is told again until it can be or does not run any more.
"""

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError, NotFound
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.sandbox.sandbox import RUNNING, Sandbox, State
from atoll.services.sandboxes.provisioning import Provisioning
from atoll.services.sandboxes.transitions import Transitions
from atoll.services.secrets.policies import Policies

AT_ONCE = 8
"""Runtimes told at the same time."""

PATIENCE_SECONDS = 5.0
"""How long the one who made a change waits for runtimes that do not answer."""

AGAIN_SECONDS = 1.0
"""Before a runtime that could not be told is told again."""

_log = structlog.get_logger(__name__)


class Deliveries:
    """Sets policies of running sandboxes. Bounded by the number of sandboxes."""

    def __init__(
        self, transitions: Transitions, provisioning: Provisioning, policies: Policies
    ) -> None:
        self._transitions = transitions
        self._provisioning = provisioning
        self._policies = policies
        self._due: set[SandboxId] = set()

    async def run(self) -> None:
        """Tell what an earlier control plane left running, then whoever is still owed."""
        for sandbox in self._transitions.directory.known():
            if sandbox.state in RUNNING:
                self._policies.adopt(sandbox)
                self._due.add(sandbox.id)
        while True:
            if self._due:
                await self._tell(self._owed())
            now = self._transitions.clock.now()
            await self._transitions.clock.sleep_until(now + timedelta(seconds=AGAIN_SECONDS))

    async def changed(self, org_id: OrgId, owner: PrincipalId | None) -> None:
        """Something of this owner's changed (None: of the whole organization's)."""
        self._policies.changes += 1
        concerned = [
            sandbox
            for sandbox in self._transitions.directory.known()
            if sandbox.org_id == org_id
            and owner in (None, sandbox.owner)
            and sandbox.state in RUNNING | {State.PROVISIONING}
        ]
        self._due.update(sandbox.id for sandbox in concerned)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._tell(concerned)
        except TimeoutError:
            _log.warning("policies_late", org_id=org_id, sandboxes=len(self._due))

    def _owed(self) -> list[Sandbox]:
        known = {sandbox.id: sandbox for sandbox in self._transitions.directory.known()}
        self._due &= known.keys()
        return [known[sandbox_id] for sandbox_id in self._due]

    async def _tell(self, sandboxes: Iterable[Sandbox]) -> None:
        todo = list(sandboxes)
        for start in range(0, len(todo), AT_ONCE):
            async with asyncio.TaskGroup() as tasks:
                for sandbox in todo[start : start + AT_ONCE]:
                    tasks.create_task(self._tell_one(sandbox))

    async def _tell_one(self, sandbox: Sandbox) -> None:
        if sandbox.state is State.PROVISIONING:
            return  # it is told on its way up, and owed until it runs
        # Before it is told: a change meanwhile puts it back.
        self._due.discard(sandbox.id)
        if sandbox.state not in RUNNING:
            return
        told = False
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._policies.put(self._provisioning.client(sandbox), sandbox)
            told = True
        except NotFound:
            told = True
            _log.error("runtime_without_policies", sandbox=sandbox.id)
        except (AtollError, TimeoutError) as err:
            _log.warning("policy_not_set", sandbox=sandbox.id, reason=str(err) or "no answer")
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("policy_broke", sandbox=sandbox.id)
        finally:
            if not told:
                self._due.add(sandbox.id)
