"""Servers and tasks that wait for the set-up of their sandbox: each begins once that succeeded.

After a set-up that failed a task waits for its person, who begins it all the same or runs the
set-up again. The tasks are the stored sandboxes themselves, so they outlive the control plane.
"""

from datetime import timedelta
from functools import partial
from typing import Protocol

import structlog

from atoll.domain.errors import AtollError, Conflict, Failed, Invalid, NotFound
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.project import awaits_prebuild, failure_of, is_ready_for_agent
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.sandboxes.stimulus import PrebuildSettled, ServersBegan, SetupEnded, TaskBegan
from atoll.domain.sandboxes.task import mark_failed
from atoll.domain.sandboxes.task_queue import is_waiting, servers_due
from atoll.ports import Clock, RuntimeClient
from atoll.services.lifecycle.directory import Directory
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.provisioning.steps.project_setup import open_servers
from atoll.services.provisioning.steps.task import give_task
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.task_runner import TaskRunner
from atoll.wire.contract.terminals import get_terminal
from atoll.wire.words.sandboxes import SetupState

LOOK_SECONDS = 1.0
"""The time between two looks at the set-ups for which tasks wait."""

_log = structlog.get_logger(__name__)


class SetupKeeper(Protocol):
    """Keeper of what set-ups leave."""

    async def keep(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Keep the disk of a sandbox whose set-up has just succeeded, before anything else runs.
        Raises `StoreUnavailable`."""
        ...


class WaitingTasks:
    """The servers and tasks of this control plane that wait for a set-up."""

    def __init__(
        self,
        directory: Directory,
        clock: Clock,
        runtimes: SandboxRuntimes,
        *,
        reconciler: Reconciler,
        runner: TaskRunner,
        keeper: SetupKeeper | None = None,
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._runtimes = runtimes
        self._reconciler = reconciler
        self._runner = runner
        self._keeper = keeper
        self._looking: set[SandboxId] = set()
        self._beginning: set[SandboxId] = set()

    async def run(self) -> None:
        """Begin servers and tasks as their set-ups succeed, until cancelled."""
        while True:
            for sandbox in self._directory.known():
                if _may_change(sandbox) and sandbox.id not in self._looking:
                    self._looking.add(sandbox.id)
                    self._runner.start(partial(self._look_and_log, sandbox))
            pause = timedelta(seconds=LOOK_SECONDS)
            await self._clock.sleep_until(self._clock.now() + pause)

    async def begin(self, caller: Principal, sandbox: Sandbox, client: RuntimeClient) -> Sandbox:
        """Begin a waiting task now, whatever its set-up does. Raises `Conflict` when none
        waits."""
        task = sandbox.task
        if task is None or not is_waiting(sandbox) or sandbox.id in self._beginning:
            raise Conflict(
                f"Sandbox {sandbox.name} has no task that waits: give its agent words with "
                f"`atoll agent ask {sandbox.name} TEXT`.",
                code="no_task",
            )
        self._beginning.add(sandbox.id)
        try:
            begun = await give_task(sandbox, task, client, report=lambda _line: None)
            stimulus = TaskBegan(sandbox.generation, begun)
            now = await self._reconciler.apply(sandbox.id, stimulus, actor=caller)
        finally:
            self._beginning.discard(sandbox.id)
        self._reconciler.touch(now)
        return now

    async def drop(self, caller: Principal, sandbox: Sandbox) -> Sandbox:
        """Leave a waiting task: its agent never gets it. Does nothing when none waits."""
        task = sandbox.task
        if task is None:
            return sandbox
        left = mark_failed(task, "The set-up failed, and the task was left.")
        stimulus = TaskBegan(sandbox.generation, left)
        return await self._reconciler.apply(sandbox.id, stimulus, actor=caller)

    async def _look_and_log(self, sandbox: Sandbox) -> None:
        """Look at a waiting task, and log an error instead of raising it."""
        try:
            await self._look(sandbox)
        except AtollError as err:
            _log.info("waiting_task_not_begun", sandbox=sandbox.id, reason=err.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("waiting_task_broke", sandbox=sandbox.id)
        finally:
            self._looking.discard(sandbox.id)

    async def _look(self, sandbox: Sandbox) -> None:
        """Take in the end of a set-up, which its journal may report later, and begin what waits."""
        client, project = self._runtimes.client(sandbox), sandbox.project
        if project is not None and project.state is SetupState.RUNNING and project.terminal_id:
            terminal = await client.call(get_terminal(project.terminal_id))
            if terminal.exit is None:
                return
            ended = SetupEnded(project.terminal_id, failure_of(terminal.exit.words()))
            sandbox = await self._reconciler.apply(sandbox.id, ended)
        sandbox = await self._keep_setup(sandbox, client)
        if servers_due(sandbox) and sandbox.ready_at is not None:
            await _open_servers_or_log(sandbox, client)
            sandbox = await self._reconciler.apply(sandbox.id, ServersBegan(sandbox.ready_at))
        if is_waiting(sandbox) and is_ready_for_agent(sandbox.project):
            await self.begin(SYSTEM, sandbox, client)

    async def _keep_setup(self, sandbox: Sandbox, client: RuntimeClient) -> Sandbox:
        """Have what a set-up left kept, where it may be."""
        project = sandbox.project
        if self._keeper is None or project is None or not awaits_prebuild(project):
            return sandbox
        if project.state is SetupState.DONE:
            await self._keeper.keep(sandbox, client)
        settled = PrebuildSettled(project.prebuild_key or "")
        return await self._reconciler.apply(sandbox.id, settled)


async def _open_servers_or_log(sandbox: Sandbox, client: RuntimeClient) -> None:
    """Open the servers. Logs a refusal for good; raises one that may pass."""
    try:
        await open_servers(sandbox, client)
    except (Failed, Invalid, NotFound) as err:
        _log.warning("servers_not_started", sandbox=sandbox.id, reason=err.message)


def _may_change(sandbox: Sandbox) -> bool:
    """Report whether servers or a task may begin without a person: the set-up runs or has
    succeeded."""
    project = sandbox.project
    behind_setup = awaits_prebuild(project) or (project is not None and project.awaits_servers)
    if sandbox.state not in RUNNING or not (behind_setup or is_waiting(sandbox)):
        return False
    return is_ready_for_agent(project) or (
        project is not None and project.state is SetupState.RUNNING
    )
