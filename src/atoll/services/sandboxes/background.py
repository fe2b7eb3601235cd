"""Everything that a control plane does for its sandboxes without a request.

Sandboxes outlive it: cancelling leaves them as they are, and the next run continues. Of several
replicas the leader does nearly all of it.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from atoll.ports.leadership import Act, Leadership
from atoll.services.journals.journal_poll import JournalPoll
from atoll.services.journals.pruning import EventPruning
from atoll.services.lifecycle.projections import Projections
from atoll.services.lifecycle.usage_sampling import UsageSampling
from atoll.services.logins.upkeep import LoginServices
from atoll.services.policies.leases import Leases
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.sandboxes.backend_watch import BackendWatch
from atoll.services.sandboxes.metadata import Metadata
from atoll.services.sandboxes.mount_grant_sweep import MountGrantSweep
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.sandboxes.remote_maintenance import RemoteMaintenance
from atoll.services.sandboxes.replica_watch import ReplicaWatch
from atoll.services.sandboxes.task_queue import TaskQueue
from atoll.services.sandboxes.waiting_tasks import WaitingTasks
from atoll.services.task_runner import TaskRunner


@dataclass(frozen=True, slots=True)
class Runners:
    """The tasks that services start: `own` runs those of every replica, `lead` the leader's."""

    own: TaskRunner
    lead: TaskRunner


@dataclass(frozen=True, slots=True)
class Background:
    """The tasks of one control plane."""

    leadership: Leadership
    runners: Runners
    metadata: Metadata
    reconciler: Reconciler
    backend_watch: BackendWatch
    replica_watch: ReplicaWatch
    policy_push: PolicyPush
    leases: Leases
    journal_poll: JournalPoll
    projections: Projections
    usage: UsageSampling
    pruning: EventPruning
    task_queue: TaskQueue
    waiting_tasks: WaitingTasks
    remote_maintenance: RemoteMaintenance
    logins: LoginServices
    mount_grants: MountGrantSweep
    work_changes: Act

    async def run(
        self, further: Sequence[Act] = (), *, ending: asyncio.Event | None = None
    ) -> None:
        """Run all tasks until cancelled, and `further` ones while this process leads. Once it is
        `ending`, another process leads, where there may be one."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.runners.own.run())
            leading = tasks.create_task(self.leadership.run(lambda: self._lead(further)))
            if self.leadership.shared:
                tasks.create_task(self.replica_watch.run())
                tasks.create_task(self.backend_watch.collect_active())
                if ending is not None:
                    await ending.wait()
                    leading.cancel()

    async def _lead(self, further: Sequence[Act]) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.runners.lead.run())
            for act in further:
                tasks.create_task(_run_act(act))
            tasks.create_task(self.metadata.run())
            tasks.create_task(self.reconciler.run())
            tasks.create_task(self.backend_watch.run(tasks))
            await self.backend_watch.adopted()
            if self.leadership.shared:
                tasks.create_task(self.reconciler.perform_owed())
                tasks.create_task(self.remote_maintenance.serve())
            tasks.create_task(self.policy_push.run())
            tasks.create_task(self.leases.run())
            tasks.create_task(self.journal_poll.run(tasks))
            tasks.create_task(self.projections.run())
            tasks.create_task(self.usage.run())
            tasks.create_task(self.pruning.run())
            tasks.create_task(self.task_queue.run())
            tasks.create_task(self.waiting_tasks.run())
            tasks.create_task(self.logins.upkeep.run())
            tasks.create_task(self.mount_grants.run())
            tasks.create_task(_run_act(self.work_changes))

    async def adopted(self) -> None:
        """Return once `run` knows what is there: an earlier control plane left it, or others have
        it in hand."""
        if self.leadership.shared:
            await self.replica_watch.loaded()
        else:
            await self.backend_watch.adopted()


async def _run_act(act: Act) -> None:
    """Await an act, so that a task can run what is no coroutine."""
    await act()
