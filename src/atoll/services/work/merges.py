"""Merges: a sandbox's branch goes into another branch of its repository.

The branch is rebased onto the newest commits of the other one first, as a sync does. A conflict
leaves the sandbox in conflict, and nothing is merged. The result is a branch inside, which leaves
by a pull, a push or a pull request. Git's answers are text that an agent may have written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from atoll.domain.errors import Conflict, Failed, Invalid, NotFound, Unavailable
from atoll.domain.event import Json
from atoll.domain.people.principal import Principal
from atoll.domain.repository.branch import read_branch
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo, check_may_manage
from atoll.ports.runtime import RuntimeClient
from atoll.services.library.checkout_scripts import NOT_A_REPOSITORY
from atoll.services.library.syncs import Sync, SyncOrder, Syncs
from atoll.services.library.tree_edits import TreeEdits
from atoll.services.library.workspaces import Workspaces, inside_path
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.scripts import Outcome, read_count, run_inside
from atoll.services.work.merge_scripts import (
    BEHIND,
    DESCRIBE,
    MERGE,
    NO_BASE,
    NO_BRANCH,
    NOT_THERE,
    NOTHING_NEW,
    PUSH_MERGED,
    SAME_BRANCH,
    STOPPED,
    UNCOMMITTED,
)
from atoll.services.work.states import WorkLog
from atoll.wire.git.trees import read_trees
from atoll.wire.words.library import MergeOutcome, MergeWay, SyncOutcome

COMMIT_TITLE = "Work that was not committed"


@dataclass(frozen=True, slots=True)
class MergeOrder:
    """A merge of repository number `repo` into the branch `into` (None: the one it began from).
    `title` is the first line of the commit. With `commit`, uncommitted changes are committed first;
    with `hand_over`, a conflict becomes a prompt for the sandbox's agent. With `now`, files change
    under an agent at work, too. With `push`, the result is pushed to the remote."""

    repo: int = 0
    into: str | None = None
    way: MergeWay = MergeWay.SQUASH
    title: str | None = None
    commit: bool = False
    hand_over: bool = False
    now: bool = False
    push: bool = False


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The end of a merge: inside, `into` is at `commit`, with `commits` of the sandbox. At a
    conflict nothing was merged, and `files` and `more` others are in conflict. `previous` is the
    ref of what `into` was inside, where that is no part of it. `pushed` is None where nobody
    asked for it; `detail` says why it was not pushed."""

    outcome: MergeOutcome
    into: str
    way: MergeWay
    commit: str = ""
    commits: int = 0
    previous: str | None = None
    files: tuple[str, ...] = ()
    more: int = 0
    agent: str | None = None
    pushed: bool | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """The repository of a merge, and the branch that it goes into."""

    sandbox: Sandbox
    client: RuntimeClient
    repo: SandboxRepo
    into: str

    async def run(self, order: MergeOrder, act: str, commit: str) -> Outcome:
        """Run the script of merges. Raises what its codes stand for."""
        shared = inside_path(order.repo)
        args = (self.repo.path, shared, self.into, act, commit, order.title or "")
        outcome = await run_inside(self.client, MERGE, args)
        if outcome.code not in (0, UNCOMMITTED):
            raise _refusal(outcome, self)
        return outcome


class Merges:
    """Use cases of merges, of whoever manages the sandbox. Methods raise the errors of a running
    sandbox and of a sync."""

    def __init__(
        self,
        access: RuntimeAccess,
        workspaces: Workspaces,
        *,
        syncs: Syncs,
        edits: TreeEdits,
        log: WorkLog,
    ) -> None:
        self._access = access
        self._workspaces = workspaces
        self._syncs = syncs
        self._edits = edits
        self._log = log

    async def merge(self, caller: Principal, ref: str, order: MergeOrder) -> MergeResult:
        """Merge a sandbox's branch. Raises `Conflict` with the codes `uncommitted`, `nothing_new`,
        `same_branch`, `no_branch`, `merging` and `agent_works`, `Invalid` for a branch that is not
        there."""
        place = await self._place(caller, ref, order)
        await self._check_committed(caller, place, order)
        sync = SyncOrder(order.repo, place.into, hand_over=order.hand_over, now=order.now)
        synced = await self._syncs.sync(caller, place.sandbox.id, sync)
        if synced.outcome is SyncOutcome.CONFLICT:
            return _stopped(synced, order)
        branches = await self._workspaces.latest(place.sandbox, place.repo)
        tip = next((b.commit for b in branches if b.name == f"refs/heads/{place.into}"), "")
        result = _read(await place.run(order, order.way.value, tip), place, order)
        await self._tell(caller, place, order, result)
        return await self._push(place, result) if order.push else result

    async def _place(self, caller: Principal, ref: str, order: MergeOrder) -> _Place:
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        check_may_manage(caller, sandbox)
        if not 0 <= order.repo < len(sandbox.repos):
            raise Invalid(f"{sandbox.name} has no repository number {order.repo}.", field="repo")
        repo = sandbox.repos[order.repo]
        if order.push and not repo.repo_url:
            raise Invalid(
                f"{repo.path} came from a checkout, which has no remote: pull the merge there.",
                field="push",
            )
        into = order.into or repo.from_branch or repo.began_from or repo.branch
        return _Place(sandbox, client, repo, read_branch(into, field="into"))

    async def _check_committed(self, caller: Principal, place: _Place, order: MergeOrder) -> None:
        """Check that everything is committed, or commit it."""
        outcome = await place.run(order, "check", "")
        if outcome.code == 0:
            return
        if order.commit:
            message = order.title or COMMIT_TITLE
            await self._edits.commit(caller, place.sandbox.id, message, repo=order.repo)
            return
        count = read_count(outcome.out.partition(b"\0")[0].decode("ascii", "replace")) or 0
        raise Conflict(
            f"{count} file{'' if count == 1 else 's'} of {place.sandbox.name} "
            f"{'is' if count == 1 else 'are'} not committed: commit first (`atoll commit "
            f"{place.sandbox.name}`), or merge with `--commit`.",
            code="uncommitted",
        )

    async def _push(self, place: _Place, result: MergeResult) -> MergeResult:
        args = (place.repo.path, place.repo.repo_url, place.into, result.commit)
        outcome = await run_inside(place.client, PUSH_MERGED, args)
        pushed = outcome.out == b"yes"
        name, into = place.sandbox.name, place.into
        details = {
            b"yes": "",
            b"held": f"It is held for you: `atoll pull {name} --pushed {into}`.",
            b"moved": (
                f"{into} has other commits at the remote, and nothing was overwritten: bring them "
                f"in with `atoll sync {name} --onto {into}`, then merge again."
            ),
        }
        return replace(result, pushed=pushed, detail=details.get(outcome.out, outcome.said))

    async def _tell(
        self, caller: Principal, place: _Place, order: MergeOrder, result: MergeResult
    ) -> None:
        described = await run_inside(place.client, DESCRIBE, ())
        trees = {tree.path: tree.mark for tree in read_trees(described.out)}
        payload: Mapping[str, Json] = {
            "repo": order.repo,
            "into": place.into,
            "way": order.way.value,
            "commit": result.commit,
            "commits": result.commits,
            "mark": trees.get(place.repo.path, ""),
        }
        await self._log.append(caller, place.sandbox, "work.merged", payload)


def _stopped(synced: Sync, order: MergeOrder) -> MergeResult:
    return MergeResult(
        MergeOutcome.CONFLICT,
        synced.onto,
        order.way,
        files=synced.files,
        more=synced.more,
        agent=synced.agent,
    )


def _read(outcome: Outcome, place: _Place, order: MergeOrder) -> MergeResult:
    texts = [part.decode("utf-8", "replace") for part in outcome.out.split(b"\0")[:-1]]
    count = read_count(texts[2]) if len(texts) == 4 else None
    if count is None:
        raise Failed("The sandbox did not say how the merge ended: its git or shell is broken.")
    _, commit, _, previous = texts
    return MergeResult(
        MergeOutcome.MERGED, place.into, order.way, commit[:64], count, previous[:100] or None
    )


def _refusal(outcome: Outcome, place: _Place) -> Exception:
    path, into = place.repo.path, place.into
    match outcome.code:
        case code if code == NOT_A_REPOSITORY:
            return NotFound(f"{path} in the sandbox is no git repository any more.")
        case code if code == NO_BRANCH:
            return Conflict(f"{path} is on no branch: check one out there first.", code="no_branch")
        case code if code == SAME_BRANCH:
            return Conflict(
                f"{path} is on {into} itself, so there is nothing to merge into it: `atoll pull` "
                "brings its commits.",
                code="same_branch",
            )
        case code if code == STOPPED:
            return Conflict(
                f"A rebase or merge waits in {path}: resolve it, or give it up, first.",
                code="merging",
            )
        case code if code == NOTHING_NEW:
            return Conflict(f"{into} has all of {path} already.", code="nothing_new")
        case code if code == NO_BASE:
            return Invalid(f"The shared repository has no branch {into!r}.", field="into")
        case code if code in (NOT_THERE, BEHIND):
            return Unavailable(f"{into} has newer commits by now: merge again.")
    return Conflict(f"Git could not merge in {path}: {outcome.said}", code="not_merged")
