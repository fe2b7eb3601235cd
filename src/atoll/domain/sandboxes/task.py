"""The task of a sandbox: the words its agent receives as its first message, after the instructions.

Pure text and state. `services.provisioning.steps.task` opens the agent with it, before the
sandbox is ready.
"""

from dataclasses import dataclass, replace

from atoll.domain.agents.acp.added import is_added
from atoll.domain.agents.agent import plain_prompt
from atoll.domain.agents.registry import asks_at_terminal
from atoll.domain.errors import Invalid
from atoll.domain.repository.issue import read_issue_address
from atoll.wire.words.sandboxes import MAX_TASK_PROMPT, AgentMode, TaskState

MAX_FIRST_MESSAGE = 128 * 1024 - 16
"""The bound on instructions and task together, in bytes. An agent receives both as one word of an
argv (execve(2), MAX_ARG_STRLEN)."""


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A requested task. `asks`: a machine asks before it acts. `group` names the tasks that are one
    sentence, given to several agents. `max_working`: it waits while so many tasks of its
    person are at work; None takes the setting. Without `mode` it is at a terminal, without `asks`
    a machine does not ask. `issue` is the address of the issue or pull request it began with."""

    prompt: str
    mode: AgentMode | None = None
    asks: bool | None = None
    group: str | None = None
    max_working: int | None = None
    issue: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a sandbox. `reason` says why it failed, `before` how many queued tasks come
    before it. Its pull request answers the `issue`."""

    prompt: str
    mode: AgentMode = AgentMode.TUI
    asks: bool = False
    group: str | None = None
    state: TaskState = TaskState.WAITING
    reason: str | None = None
    max_working: int | None = None
    before: int = 0
    issue: str | None = None


def read_task(request: TaskRequest | None, agent: str | None, *, instructions: str) -> Task | None:
    """Return the requested task, None for none. Raises `Invalid` for words that are empty or too
    long, without an agent to give them to, for one at a terminal that cannot be told to ask, at
    one that the agent does not have, and for an issue that is no address."""
    if request is None:
        return None
    if agent is None:
        raise Invalid(
            "a prompt needs an agent that receives it: name one as `agent`, or take a profile "
            "that has one",
            field="prompt",
        )
    words = request.prompt if "\0" in request.prompt else plain_prompt(request.prompt)
    size = len(words.encode("utf-8", "surrogatepass"))
    if not words.strip() or "\0" in words or size > MAX_TASK_PROMPT:
        raise Invalid(
            f"a prompt is 1 to {MAX_TASK_PROMPT} bytes of text without NUL", field="prompt"
        )
    if size + len(instructions.encode("utf-8", "surrogatepass")) > MAX_FIRST_MESSAGE:
        raise Invalid(
            f"the prompt and the instructions are together longer than {MAX_FIRST_MESSAGE} bytes: "
            "shorten one of them, or put the rest into a file of the repository",
            field="prompt",
        )
    most, asks = request.max_working, bool(request.asks)
    mode = mode_of(request.mode, agent)
    if request.mode not in (None, mode):
        raise Invalid(f"{agent} has no mode at a terminal: take machine", field="task.mode")
    if asks and mode is AgentMode.TUI and not asks_at_terminal(agent):
        raise Invalid(
            "at a terminal this agent's own settings say what it asks: take mode machine, or leave "
            "permissions out",
            field="task.permissions",
        )
    issue = None if request.issue is None else read_issue_address(request.issue, "task.issue").url
    return Task(words, mode, asks, request.group, max_working=most, issue=issue)


def mode_of(mode: AgentMode | None, agent: str) -> AgentMode:
    """Return the mode in which an agent works. One that was added has no other than `machine`."""
    return AgentMode.MACHINE if is_added(agent) else mode or AgentMode.TUI


def mark_given(task: Task) -> Task:
    """Return the task once its agent has it."""
    return replace(task, state=TaskState.GIVEN, reason=None)


def mark_failed(task: Task, reason: str) -> Task:
    """Return the task whose agent could not be started."""
    return replace(task, state=TaskState.FAILED, reason=reason)


def reset_task(task: Task) -> Task:
    """Return the task as it is before its sandbox is ready."""
    return replace(task, state=TaskState.WAITING, reason=None, before=0)


def enqueue_task(task: Task, max_working: int) -> Task:
    """Return the task that waits while `max_working` others are at work."""
    return replace(task, state=TaskState.QUEUED, max_working=max_working)
