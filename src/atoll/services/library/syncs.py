"""Syncs: newer commits of a person's branch flow into a sandbox, whose own branch is rebased onto
them.

The commits arrive in the shared repository first, by an upload or a fetch. Git runs inside, and its
answer is read here as text an agent may have written.
"""

from dataclasses import dataclass, replace

from atoll.domain.errors import Conflict, Failed, Invalid, NotFound, Unavailable
from atoll.domain.event import Json, sandbox_stream
from atoll.domain.people.principal import Principal
from atoll.domain.repository.branch import branch_of_ref, read_branch
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo
from atoll.domain.unseen import spell_unseen
from atoll.ports.runtime import RuntimeClient
from atoll.services.agents.agents import Agents
from atoll.services.agents.statuses import AgentStatuses
from atoll.services.journals.events import Events, Note
from atoll.services.library.checkout_scripts import NOT_A_REPOSITORY
from atoll.services.library.sync_scripts import MERGING, NO_BASE, NOT_THERE, OTHER_HEAD, SYNC
from atoll.services.library.workspaces import Workspaces, inside_path
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.scripts import run_inside
from atoll.wire.contract import agents as contract
from atoll.wire.words.library import SyncAct, SyncOutcome

COMMANDS = ("rebase", "merge", "cherry-pick", "revert")
"""Git commands that stop at a conflict."""

MAX_FILES = 100
"""Files in conflict that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class SyncOrder:
    """A sync of repository number `repo` with branch `onto` of the shared one (None: the branch it
    began from). With `hand_over`, a conflict becomes a prompt for the sandbox's agent. With `now`,
    files change under an agent at work, too."""

    repo: int = 0
    onto: str | None = None
    act: SyncAct = SyncAct.REBASE
    hand_over: bool = False
    now: bool = False


@dataclass(frozen=True, slots=True)
class Sync:
    """A sync's result: HEAD is at `commit` after `commits` newer ones of `onto` came in. `files`
    are in conflict, `more` counts those left out. `stashed` says that uncommitted changes did not
    fit and are in a stash. `agent` received the conflict. `command` is the git command that
    stopped."""

    outcome: SyncOutcome
    onto: str
    commit: str
    commits: int = 0
    files: tuple[str, ...] = ()
    more: int = 0
    stashed: bool = False
    agent: str | None = None
    command: str = "rebase"


@dataclass(frozen=True, slots=True)
class _Base:
    """A branch of the shared repository, at `commit` outside; empty where that does not matter."""

    branch: str
    commit: str = ""


class Syncs:
    """Use cases of syncs. Methods raise the errors of a running sandbox."""

    def __init__(
        self,
        access: RuntimeAccess,
        workspaces: Workspaces,
        *,
        agents: Agents,
        statuses: AgentStatuses,
        events: Events,
    ) -> None:
        self._statuses = statuses
        self._access = access
        self._workspaces = workspaces
        self._agents = agents
        self._events = events

    async def sync(self, caller: Principal, ref: str, order: SyncOrder) -> Sync:
        """Bring newer commits in and rebase onto them. Raises `Invalid` for a branch that is not
        there, `Conflict` where git cannot begin or (`agent_works`) an agent works there,
        `Unavailable` when the remote does not answer."""
        _check_order(order)
        act = order.act is not SyncAct.LOOK
        sandbox, client = await self._access.runtime(caller, ref, activity=act)
        if not 0 <= order.repo < len(sandbox.repos):
            raise Invalid(f"{sandbox.name} has no repository number {order.repo}.", field="repo")
        repo = sandbox.repos[order.repo]
        if act and not order.now:
            await self._check_turn(sandbox)
        base = await self._base(sandbox, repo, order)
        done = await _run(client, repo, order, base)
        if done.outcome is SyncOutcome.CONFLICT and order.hand_over:
            done = await self._hand_over(caller, sandbox, repo, done)
        if act and done.outcome not in (SyncOutcome.CURRENT, SyncOutcome.CLEAN):
            await self._tell(caller, sandbox, order.repo, done)
        return done

    async def _check_turn(self, sandbox: Sandbox) -> None:
        """Raise `Conflict` while an agent works in the sandbox: files would change under it."""
        there = (await self._statuses.of((sandbox,)))[sandbox.id]
        working = [placed.agent for placed in there if placed.status.status == "working"]
        if working:
            raise Conflict(
                f"{spell_unseen(working[0])} is at work in {sandbox.name}: wait until its turn "
                "is over, or sync all the same (`--now`).",
                code="agent_works",
            )

    async def _base(self, sandbox: Sandbox, repo: SandboxRepo, order: SyncOrder) -> _Base:
        """Return the branch to rebase onto, after a fetch where it is a remote's."""
        onto = order.onto or repo.from_branch or repo.began_from or repo.branch
        if order.act is not SyncAct.REBASE:
            return _Base(onto)
        refs = await self._workspaces.latest(sandbox, repo)
        there = {branch_of_ref(ref.name): ref.commit for ref in refs}
        there.pop(None, None)
        if read_branch(onto, field="onto") not in there:
            some = ", ".join(filter(None, [*there][:5])) or "none at all"
            raise Invalid(
                f"The shared repository has no branch {onto!r}; it has {some}.", field="onto"
            )
        return _Base(onto, there[onto])

    async def _hand_over(
        self, caller: Principal, sandbox: Sandbox, repo: SandboxRepo, done: Sync
    ) -> Sync:
        running = (await self._agents.list(caller, sandbox.id)).agents
        if not running:
            raise NotFound(
                f"{sandbox.name} has no agent that could resolve the conflict: start one, or give "
                "the rebase up."
            )
        agent = running[-1].id
        body = contract.AskBody(prompt=_prompt(repo, done))
        await self._agents.ask(caller, sandbox.id, agent, body=body)
        return replace(done, agent=agent)

    async def _tell(self, caller: Principal, sandbox: Sandbox, number: int, done: Sync) -> None:
        payload: dict[str, Json] = {
            "sandbox_id": sandbox.id,
            "generation": sandbox.generation,
            "repo": number,
            "onto": done.onto,
            "outcome": done.outcome.value,
            "commits": done.commits,
        }
        await self._events.record(caller, Note(sandbox_stream(sandbox.id), "git.synced", payload))


def _check_order(order: SyncOrder) -> None:
    """Check for parts that the act has no use for. Raises `Invalid`."""
    if order.onto is not None and order.act is not SyncAct.REBASE:
        raise Invalid(f"onto is for rebase, not for {order.act}", field="onto")
    if order.hand_over and order.act is SyncAct.ABORT:
        raise Invalid("abort leaves no conflict for an agent", field="agent")
    if order.now and order.act is SyncAct.LOOK:
        raise Invalid("look changes nothing and waits for nobody: leave now out", field="now")


async def _run(client: RuntimeClient, repo: SandboxRepo, order: SyncOrder, base: _Base) -> Sync:
    onto = base.branch
    args = (repo.path, inside_path(order.repo), onto, order.act.value, base.commit)
    ended = await run_inside(client, SYNC, args)
    match ended.code:
        case 0:
            return _read(ended.out, onto)
        case code if code == NOT_A_REPOSITORY:
            raise NotFound(f"{repo.path} in the sandbox is no git repository any more.")
        case code if code == OTHER_HEAD:
            raise Conflict(
                f"{repo.path} is on no branch: check one out there first.", code="no_branch"
            )
        case code if code == MERGING:
            raise Conflict(
                f"A merge or cherry-pick is under way in {repo.path}: end it inside first.",
                code="merging",
            )
        case code if code == NOT_THERE:
            raise Unavailable(
                f"The newer commits of {onto} did not reach the sandbox's machine: try again."
            )
        case code if code == NO_BASE:
            raise Invalid(f"The shared repository has no branch {onto!r}.", field="onto")
    raise Conflict(
        f"{repo.path} was left as it is, git cannot rebase it: {ended.said}", code="not_synced"
    )


def _read(out: bytes, onto: str) -> Sync:
    texts = [part.decode("utf-8", "replace") for part in out.split(b"\0")[:-1]]
    try:
        outcome, commit, count, left, command, *files = texts
        return Sync(
            SyncOutcome(outcome),
            onto,
            commit[:40],
            int(count[:9]),
            tuple(files[:MAX_FILES]),
            max(0, len(files) - MAX_FILES),
            stashed=int(left[:9]) > 0,
            command=command if command in COMMANDS else "rebase",
        )
    except ValueError as error:
        raise Failed(
            "The sandbox did not say how the sync ended: its git or shell is broken."
        ) from error


def _prompt(repo: SandboxRepo, done: Sync) -> str:
    named = "\n".join(f"- {spell_unseen(path[:300])}" for path in done.files[:30])
    more = f"\n- and {len(done.files) + done.more - 30} more" if len(done.files) > 30 else ""
    command = done.command
    onto = f" onto newer commits of {done.onto}" if command == "rebase" else ""
    return (
        f"In {repo.path}, a {command}{onto} stopped with conflicts:\n"
        f"{named}{more}\n"
        "Resolve them so that both sides keep their meaning, `git add` the files and run "
        f"`GIT_EDITOR=true git {command} --continue` until it is done. Then run the tests."
    )
