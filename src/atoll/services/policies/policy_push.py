"""Policies pushed to the runtimes that a change of a secret or an approval concerns.

`push_changes` sends them at once and returns when all runtimes have theirs, or after a few
seconds. A push that failed is retried until it succeeds or the sandbox no longer runs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError, NotFound
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.ports import Clock, RuntimeClient
from atoll.services.lifecycle.directory import Directory
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.policies.policies import ComposedPolicy, Policies
from atoll.wire.words.sandboxes import State

AT_ONCE = 8
"""Policies sent at the same time."""

PATIENCE_SECONDS = 5.0
"""Time for which a change waits for runtimes that do not answer."""

AGAIN_SECONDS = 1.0
"""Before a push is retried."""

LayLogin = Callable[[RuntimeClient, Sandbox, ComposedPolicy], Awaitable[None]]
"""Lays anew what a policy puts inside of an exposed login."""

_log = structlog.get_logger(__name__)


async def _laid_nowhere(_client: RuntimeClient, _sandbox: Sandbox, _put: ComposedPolicy) -> None:
    return


class PolicyPush:
    """Sets policies of running sandboxes. Bounded by the number of sandboxes."""

    def __init__(
        self,
        directory: Directory,
        clock: Clock,
        runtimes: SandboxRuntimes,
        *,
        policies: Policies,
        lay: LayLogin = _laid_nowhere,
    ) -> None:
        self._lay = lay
        self._directory = directory
        self._clock = clock
        self._runtimes = runtimes
        self._policies = policies
        self._due: set[SandboxId] = set()

    async def run(self) -> None:
        """Push to what an earlier control plane left running, then retry failed pushes."""
        for sandbox in self._directory.known():
            if sandbox.state in RUNNING:
                self._policies.adopt(sandbox)
                self._due.add(sandbox.id)
        while True:
            self._due |= self._policies.due_renewals()
            if self._due:
                await self._push(self._list_due_sandboxes())
            now = self._clock.now()
            await self._clock.sleep_until(now + timedelta(seconds=AGAIN_SECONDS))

    def adopt(self, sandbox: Sandbox) -> None:
        """Send later policies in any case: another process may have sent one."""
        self._policies.adopt(sandbox)

    def renew(self, sandboxes: Iterable[SandboxId]) -> None:
        """Have `run` send the policies of these sandboxes anew."""
        self._due.update(sandboxes)

    async def push_changes(self, org_id: OrgId, owner: PrincipalId | None) -> None:
        """Push after a change of this owner (None: of the whole organization)."""
        self._policies.note_change()
        concerned = [
            sandbox
            for sandbox in self._directory.known()
            if sandbox.org_id == org_id
            and owner in (None, sandbox.owner)
            and sandbox.state in RUNNING | {State.PROVISIONING}
        ]
        self._due.update(sandbox.id for sandbox in concerned)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._push(concerned)
        except TimeoutError:
            _log.warning("policies_late", org_id=org_id, sandboxes=len(self._due))

    def _list_due_sandboxes(self) -> list[Sandbox]:
        """Return the sandboxes whose policy is due, and forget those that are gone."""
        known = {sandbox.id: sandbox for sandbox in self._directory.known()}
        self._due &= known.keys()
        return [known[sandbox_id] for sandbox_id in self._due]

    async def _push(self, sandboxes: Iterable[Sandbox]) -> None:
        slots = asyncio.Semaphore(AT_ONCE)

        async def push(sandbox: Sandbox) -> None:
            async with slots:
                await self._push_one(sandbox)

        async with asyncio.TaskGroup() as tasks:
            for sandbox in sandboxes:
                tasks.create_task(push(sandbox))

    async def _push_one(self, sandbox: Sandbox) -> None:
        if sandbox.state is State.PROVISIONING:
            return  # sent while it is provisioned, and due until it runs
        # Before the push: a change meanwhile makes it due again.
        self._due.discard(sandbox.id)
        if sandbox.state not in RUNNING:
            return
        pushed = False
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                client = self._runtimes.client(sandbox)
                composed = await self._policies.put(client, sandbox)
                await self._lay(client, sandbox, composed)
            pushed = True
        except NotFound:
            pushed = True
            _log.error("runtime_without_policies", sandbox=sandbox.id)
        except (AtollError, TimeoutError) as err:
            _log.warning("policy_not_set", sandbox=sandbox.id, reason=str(err) or "no answer")
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("policy_broke", sandbox=sandbox.id)
        finally:
            if not pushed:
                self._due.add(sandbox.id)
