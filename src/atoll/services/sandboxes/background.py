"""Everything that a control plane does for its sandboxes without a request.

Sandboxes outlive it: cancelling leaves them as they are, and the next run continues.
"""

import asyncio
from dataclasses import dataclass

from atoll.services.journals.journal_poll import JournalPoll
from atoll.services.journals.pruning import EventPruning
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.sandboxes.backend_watch import BackendWatch
from atoll.services.sandboxes.metadata import Metadata
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.sandboxes.task_queue import TaskQueue
from atoll.services.sandboxes.waiting_tasks import WaitingTasks
from atoll.services.task_runner import TaskRunner


@dataclass(frozen=True, slots=True)
class Background:
    """The tasks of one control plane."""

    runner: TaskRunner
    metadata: Metadata
    reconciler: Reconciler
    backend_watch: BackendWatch
    policy_push: PolicyPush
    journal_poll: JournalPoll
    pruning: EventPruning
    task_queue: TaskQueue
    waiting_tasks: WaitingTasks

    async def run(self) -> None:
        """Run all tasks until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.runner.run())
            tasks.create_task(self.metadata.run())
            tasks.create_task(self.reconciler.run())
            tasks.create_task(self.backend_watch.run(tasks))
            await self.backend_watch.adopted()
            tasks.create_task(self.policy_push.run())
            tasks.create_task(self.journal_poll.run(tasks))
            tasks.create_task(self.pruning.run())
            tasks.create_task(self.task_queue.run())
            tasks.create_task(self.waiting_tasks.run())

    async def adopted(self) -> None:
        """Return once `run` knows what an earlier control plane left."""
        await self.backend_watch.adopted()
