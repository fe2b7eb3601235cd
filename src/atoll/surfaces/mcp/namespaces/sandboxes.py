"""The tools `atoll.*` about sandboxes: list, create, wait, destroy.

Each is a use case of the API. Who may do what with which sandbox is decided there. From inside a
sandbox they are about those that were made there.
"""

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.event import Json
from atoll.domain.people.capability import Capability
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, Sandbox
from atoll.domain.sandboxes.steps.home_agent import home_request
from atoll.domain.sandboxes.task import TaskRequest
from atoll.domain.tools.answer import Answer
from atoll.domain.tools.tool import READS, Effects
from atoll.surfaces.mcp.definition import Arguments, Call, Namespace
from atoll.surfaces.mcp.fields import Cursor, SandboxName, WaitSeconds
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import AgentMode, Scope

atoll = Namespace("atoll")

PAGE = 20
"""Sandboxes of one answer, which holds them all with names and reasons of the greatest length."""

PROFILE = "shell"
"""The recipe of a sandbox that a person's own agent makes without naming one."""

MAX_REASON = 500
"""The characters of a reason that a model is shown."""


class ListArguments(Arguments, frozen=True):
    """The arguments of `atoll.list`."""

    cursor: Cursor = ""


class CreateArguments(Arguments, frozen=True):
    """The arguments of `atoll.create`."""

    profile: Annotated[
        str,
        Meta(
            description="Such as `shell` or `codex`; from inside a sandbox always that one's.",
            max_length=100,
        ),
    ] = ""
    name: Annotated[str, Meta(description="A name; left out, one is made.", max_length=200)] = ""
    repo_url: Annotated[str, Meta(description="A git repository to work on.", max_length=2000)] = ""
    branch: Annotated[str, Meta(description="The branch of it.", max_length=200)] = ""
    from_branch: Annotated[
        str,
        Meta(
            description="Where the branch begins, also one that is there; left out, the default.",
            max_length=200,
        ),
    ] = ""
    agent: Annotated[
        str, Meta(description="Such as `codex`; left out, the profile's.", max_length=200)
    ] = ""
    prompt: Annotated[
        str,
        Meta(description="A task for its agent, begun at once.", max_length=100_000),
    ] = ""
    issue: Annotated[
        str,
        Meta(
            description="The address of an issue or pull request: it is the task, in its "
            "repository, on a branch for it; a prompt stands before its words.",
            max_length=2000,
        ),
    ] = ""
    mode: Annotated[
        Literal["", "tui", "machine"],
        Meta(
            description="How its agent works at the task: at a terminal, as when left out, or by "
            "cards."
        ),
    ] = ""
    permissions: Annotated[
        Literal["", "allow", "ask"],
        Meta(description="With `ask` a machine asks a person before it acts."),
    ] = ""
    max_working: Annotated[
        int, Meta(description="Queue the task while so many are at work; 0 never.", ge=0, le=1000)
    ] = 0
    network_mode: Annotated[
        Literal["", "none", "limited", "host-only", "full"],
        Meta(description="Its network; left out, the profile's."),
    ] = ""
    ttl_seconds: Annotated[
        int, Meta(description="How long it lives; 0 is the profile's.", ge=0, le=366 * 86400)
    ] = 0
    shared: Annotated[bool, Meta(description="Every member of the team finds it.")] = False
    key: Annotated[
        str,
        Meta(description="The same key within a day gives the same sandbox.", max_length=200),
    ] = ""


class DestroyArguments(Arguments, frozen=True):
    """The arguments of `atoll.destroy`."""

    sandbox: SandboxName
    unpulled: Annotated[
        Literal["refuse", "lose"],
        Meta(description="With `lose` work that nobody has outside is lost."),
    ] = "refuse"


class WaitArguments(Arguments, frozen=True):
    """The arguments of `atoll.wait`."""

    sandbox: SandboxName
    seconds: WaitSeconds = 20


@atoll.tool("list", Capability.SANDBOX_READ, READS, inside=Capability.SANDBOX_CHILDREN)
async def list_sandboxes(call: Call, arguments: ListArguments) -> Answer:
    """List your sandboxes, newest first, with their states and agents."""
    children = call.atoll.tools.children
    page = await children.list(call.caller, cursor=arguments.cursor or None, limit=PAGE)
    shown: list[Json] = [sandbox_value(one) for one in page.sandboxes]
    return Answer({"sandboxes": shown, "next": page.next})


@atoll.tool("create", Capability.SANDBOX_CREATE, Effects(), inside=Capability.SANDBOX_CHILDREN)
async def create_sandbox(call: Call, arguments: CreateArguments) -> Answer:
    """Create a sandbox: a machine of its own for commands and agents. It answers at once; use
    atoll.wait until its state is ready."""
    if arguments.issue:
        arguments = await _with_issue(call, arguments)
    profile = arguments.profile or ("" if call.inside else PROFILE)
    request = CreateSandbox(
        profile=profile,
        name=arguments.name or None,
        agent=arguments.agent or None,
        scope=Scope.SHARED if arguments.shared else None,
        repos=_repos(arguments),
        ttl_seconds=arguments.ttl_seconds or None,
        network_mode=NetworkMode(arguments.network_mode) if arguments.network_mode else None,
        task=_task(arguments),
    )
    if call.stays_home:
        here = await call.atoll.repositories.list(call.caller)
        request = home_request(request, {one.key for one in here})
    key = arguments.key or None
    made = await call.atoll.sandboxes.create(call.caller, request, idempotency_key=key)
    return Answer({"sandbox": sandbox_value(made)})


async def _with_issue(call: Call, arguments: CreateArguments) -> CreateArguments:
    """Return the arguments with what an issue says where they say nothing. Raises `Forbidden` for
    an agent that does not use its person's token of a forge, and what the forge's answer raises."""
    if call.inside or call.stays_home:
        raise Forbidden("an issue is read with your person's token: send its words", field="issue")
    task = await call.atoll.review.issues.find(call.caller, arguments.issue)
    return replace(
        arguments,
        issue=task.url,
        repo_url=arguments.repo_url or task.repo_url,
        branch=arguments.branch or task.branch,
        prompt=f"{arguments.prompt.strip()}\n\n{task.prompt}".strip(),
    )


def _repos(arguments: CreateArguments) -> tuple[RepoRequest, ...]:
    """Return the repository. Raises `Invalid` for a branch of none."""
    branch, start = arguments.branch or None, arguments.from_branch or None
    if arguments.repo_url:
        return (RepoRequest(arguments.repo_url, branch, start),)
    if branch or start:
        raise Invalid("a branch needs a repository: name it in repo_url", field="repo_url")
    return ()


def _task(arguments: CreateArguments) -> TaskRequest | None:
    """Return the task. Raises `Invalid` for a way to work at none."""
    mode = AgentMode(arguments.mode) if arguments.mode else None
    asks = arguments.permissions == "ask" if arguments.permissions else None
    if arguments.prompt:
        most, issue = arguments.max_working or None, arguments.issue or None
        return TaskRequest(arguments.prompt, mode, asks, None, most, issue)
    if mode is AgentMode.MACHINE or asks or arguments.max_working:
        raise Invalid("a task needs its words: send them as prompt", field="prompt")
    return None


@atoll.tool("wait", Capability.SANDBOX_READ, READS, inside=Capability.SANDBOX_CHILDREN)
async def wait_for_sandbox(call: Call, arguments: WaitArguments) -> Answer:
    """Wait until a sandbox is ready, or cannot become so. When its state is still provisioning,
    wait again."""
    reach = await call.reach(arguments.sandbox)
    seen = await call.atoll.sandboxes.wait(
        reach.caller, reach.ref, timeout_seconds=arguments.seconds
    )
    statuses = await call.atoll.statuses.of((seen,))
    working: list[Json] = [
        {"agent_id": one.id, "agent": one.agent, "status": one.status.status}
        for one in statuses[seen.id]
    ]
    return Answer({"sandbox": sandbox_value(seen), "agents": working})


@atoll.tool(
    "destroy",
    Capability.SANDBOX_MANAGE,
    Effects(destructive=True, idempotent=True),
    inside=Capability.SANDBOX_CHILDREN,
)
async def destroy_sandbox(call: Call, arguments: DestroyArguments) -> Answer:
    """Destroy a sandbox with everything in it. While it holds work that was not taken out, it is
    refused unless `unpulled` is `lose`."""
    reach = await call.reach(arguments.sandbox)
    if arguments.unpulled == "refuse":
        await call.atoll.home.unpulled.check_lost(reach.caller, reach.ref)
    ended = await call.atoll.sandboxes.destroy(reach.caller, reach.ref)
    return Answer({"sandbox": sandbox_value(ended)})


def sandbox_value(sandbox: Sandbox) -> dict[str, Json]:
    """Return what a model needs to know of a sandbox."""
    shown: dict[str, Json] = {
        "sandbox_id": sandbox.id,
        "name": sandbox.name,
        "state": sandbox.state.value,
        "profile": sandbox.profile.id,
        "extension": sandbox.profile.extension,
    }
    if sandbox.parent is not None:
        shown["parent"] = sandbox.parent
    if sandbox.reason is not None:
        shown["reason"] = sandbox.reason[:MAX_REASON]
    return shown
