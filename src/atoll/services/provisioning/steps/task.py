"""The start of a sandbox's task: its agent is opened with it before the sandbox is ready, or once
its set-up has succeeded.

A task that cannot be started is said in the sandbox's log and on the task. It never keeps the
sandbox from starting: a person can go in and look.
"""

from collections.abc import Callable

from atoll.domain.errors import AtollError
from atoll.domain.sandboxes.project import is_ready_for_agent
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.task import Task, mark_failed, mark_given
from atoll.ports import RuntimeClient
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.orders import complete_order
from atoll.wire.contract.agents import OpenAgentBody, list_agents, open_agent
from atoll.wire.words.sandboxes import AgentMode, TaskState


class TaskStart:
    """The task of the sandbox, given to its agent."""

    async def run(self, up: BringUp) -> None:
        """Begin a task that waits, once the set-up allows it. Raises nothing."""
        up.task = await begin_task(up.sandbox, up.client, up.report)


async def begin_task(
    sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
) -> Task | None:
    """Open the agent with its task once the set-up allows it, and return the task as it then is;
    None without one. Raises nothing: what went wrong is reported."""
    task = sandbox.task
    if task is None or task.state is not TaskState.WAITING:
        return task
    if not is_ready_for_agent(sandbox.project):
        report("The task waits for the set-up.")
        return task
    try:
        known = (await client.call(list_agents())).agents
    except AtollError as error:
        return _fail_task(sandbox, task, report, error)
    if known:
        return mark_given(task)  # A start that was broken off had got that far.
    return await give_task(sandbox, task, client, report=report)


async def give_task(
    sandbox: Sandbox, task: Task, client: RuntimeClient, *, report: Callable[[str], None]
) -> Task:
    """Open the agent with its task, whatever else runs, and return the task as it then is."""
    agent = sandbox.agent or ""
    try:
        await client.call(open_agent(_order(sandbox, task, agent), principal=sandbox.owner))
    except AtollError as error:
        return _fail_task(sandbox, task, report, error)
    report(f"{agent} is at work on its task.")
    return mark_given(task)


def _fail_task(
    sandbox: Sandbox, task: Task, report: Callable[[str], None], error: AtollError
) -> Task:
    """Report that a task did not begin, and return it as failed."""
    report(f"{sandbox.agent} did not begin its task: {error.message}")
    return mark_failed(task, error.message)


def _order(sandbox: Sandbox, task: Task, agent: str) -> OpenAgentBody:
    body = OpenAgentBody(
        agent=agent,
        mode="machine" if task.mode is AgentMode.MACHINE else "tui",
        prompt=task.prompt,
        permissions="ask" if task.asks else "allow",
    )
    return complete_order(sandbox, body)
