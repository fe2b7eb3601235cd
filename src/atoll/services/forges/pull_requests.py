"""Pull requests of a sandbox's branches, at the forge of its repository.

The branch leaves by `git push` inside, as far as the secret of its remote allows it. The forge is
then asked in the name of another secret, whose token no sandbox receives. Of a pull request the log
alone knows: the forge is asked each time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from atoll.domain.errors import Conflict, Failed, Invalid, NotFound
from atoll.domain.event import Json
from atoll.domain.people.principal import Principal
from atoll.domain.repository.branch import read_branch
from atoll.domain.repository.forge import (
    Check,
    ForgeComment,
    ForgeRepository,
    NewPull,
    PullRequest,
    check_new_pull,
    plain_line,
    plain_text,
)
from atoll.domain.repository.issue import IssueAddress, read_issue_address, with_answer
from atoll.domain.repository.repository import read_commit
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo, check_may_manage
from atoll.ports.outside.forge import Forge
from atoll.ports.runtime import RuntimeClient
from atoll.services.forges.forge_tokens import ForgeTokens
from atoll.services.forges.pull_watch import record_state
from atoll.services.library.checkout_scripts import NOT_A_REPOSITORY, TELL_MOVED
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.scripts import Script, run_inside
from atoll.services.work.states import WorkLog, WorkStates
from atoll.wire.words.forges import IssueKind, PullState

NO_BRANCH = 16

# It runs inside, as the agent: the sandbox's door decides whether the branch may leave, by the
# secret of the remote. Hooks of the agent's repository take no part.
# $1 folder  $2 https address of the remote  $3 branch, or nothing for the one that is checked out
# Prints, each ended by NUL: the branch, its commit, and `moved` where the remote's branch has
# commits that this one does not have. Ends with 0 also where git did not push: the forge says what
# it has.
PUSH = Script(
    "push the branch",
    r"""
cd "$1" 2> /dev/null && [ -d .git ] && [ ! -L .git ] || exit 13
git rev-parse --git-dir > /dev/null 2>&1 || exit 13
export GIT_TERMINAL_PROMPT=0 LC_ALL=C
url=$2 branch=$3
if [ -z "$branch" ]; then branch=$(git symbolic-ref -q --short HEAD) || exit 16; fi
commit=$(git rev-parse -q --verify "refs/heads/$branch^{commit}") || exit 16
printf '%s\0%s\0' "$branch" "$commit"
said=$(git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c push.gpgSign=false \
  push -q "$url" "$commit:refs/heads/$branch" 2>&1)
"""
    + TELL_MOVED
    + r"""
printf '\0'
printf '%s\n' "$said" >&2
exit 0
""",
    seconds=300.0,
)


@dataclass(frozen=True, slots=True)
class PullOffer:
    """A request for a pull request of repository number `repo`. `branch` None is the branch that is
    checked out, `base` None the one that it began from. Without a title it has the first line of
    the sandbox's task. It answers the issue that the task began with."""

    title: str | None = None
    text: str = ""
    repo: int = 0
    branch: str | None = None
    base: str | None = None
    draft: bool = False


@dataclass(frozen=True, slots=True)
class ForgePull:
    """A pull request, its address for a browser, and whether it was there before."""

    pull: PullRequest
    url: str
    existed: bool = True


@dataclass(frozen=True, slots=True)
class DiscussedPull:
    """A pull request with its checks and its comments."""

    shown: ForgePull
    checks: Sequence[Check]
    comments: Sequence[ForgeComment]


class PullRequests:
    """Use cases on pull requests, of whoever manages the sandbox. All raise what the port
    `Forge` does, and `NotFound` (code `no_forge`) when no secret is for the repository's forge."""

    def __init__(
        self,
        sandboxes: Sandboxes,
        access: RuntimeAccess,
        *,
        forge: Forge,
        tokens: ForgeTokens,
        works: WorkStates,
        log: WorkLog,
    ) -> None:
        self._sandboxes = sandboxes
        self._access = access
        self._forge = forge
        self._tokens = tokens
        self._works = works
        self._log = log

    async def open(self, caller: Principal, ref: str, offer: PullOffer) -> ForgePull:
        """Push the branch and open its pull request; one that is open already is returned, if it is
        as this one would be, or if the sandbox's task began with it. Raises `Conflict` with the
        field that differs, with code `target_moved` when the forge's branch has other commits,
        `not_pushed` when it does not have the newest one afterwards for another reason, and
        `pull_refused` when the forge takes no pull request."""
        sandbox, repo, at = await self._place(caller, ref, offer.repo)
        sandbox, client = await self._access.runtime(caller, sandbox.id)
        wanted = "" if offer.branch is None else read_branch(offer.branch)
        push = await _push_branch(client, repo, wanted)
        base = read_branch(
            offer.base
            or repo.from_branch
            or repo.began_from
            or await self._forge.default_branch(at),
            field="base",
        )
        new = check_new_pull(_new_pull(sandbox, at, offer, branch=push.branch, base=base))
        if await self._forge.commit_of(at, push.branch) != push.commit:
            raise _refusal(sandbox, at, push)
        for pull in await self._forge.pulls(at, push.branch):
            own = _began_with(sandbox, at, pull)
            if pull.state is PullState.OPEN and (own or pull.base == base):
                if not own:
                    _check_same(pull, new, offer)
                pull = replace(pull, commit=push.commit)
                await self._tell_newer(caller, sandbox, offer.repo, pull)
                return ForgePull(pull, at.pull_url(pull.number))
        made = await self._forge.open_pull(at, new)
        await self._log.append(caller, sandbox, "git.pull_opened", _payload(offer.repo, made))
        return ForgePull(made, at.pull_url(made.number), existed=False)

    async def of(
        self, caller: Principal, ref: str, *, repo: int = 0, branch: str | None = None
    ) -> Sequence[ForgePull]:
        """Return the pull requests from a branch (that of the sandbox by default), newest first."""
        sandbox, there, at = await self._place(caller, ref, repo)
        wanted = there.branch if branch is None else read_branch(branch)
        pulls = await self._forge.pulls(at, wanted)
        await self._tell_states(sandbox, repo, pulls)
        return tuple(ForgePull(pull, at.pull_url(pull.number)) for pull in pulls)

    async def one(
        self,
        caller: Principal,
        ref: str,
        number: int,
        *,
        repo: int = 0,
        branch: str | None = None,
    ) -> DiscussedPull:
        """Return a pull request of a branch with its checks and comments. Raises `NotFound`."""
        _, there, at = await self._place(caller, ref, repo)
        wanted = there.branch if branch is None else read_branch(branch)
        for pull in await self._forge.pulls(at, wanted):
            if pull.number == number:
                checks, comments = await self._forge.discussion(at, pull)
                return DiscussedPull(ForgePull(pull, at.pull_url(number)), checks, comments)
        raise NotFound(f"There is no pull request {number} of the branch {wanted}.")

    async def branches(self, caller: Principal, ref: str, *, repo: int = 0) -> Sequence[str]:
        """Return the branches at the forge that a pull request may lead to, at most 100."""
        _, _, at = await self._place(caller, ref, repo)
        return await self._forge.branches(at)

    async def repositories(self, caller: Principal, secret: str) -> Sequence[str]:
        """Return the https addresses of repositories that a secret of the caller's reaches. Raises
        `NotFound` when there is no such secret for a forge."""
        at = await self._tokens.named(caller, secret)
        return tuple(f"{at.site}/{name}" for name in await self._forge.repositories(at))

    async def _place(
        self, caller: Principal, ref: str, number: int
    ) -> tuple[Sandbox, SandboxRepo, ForgeRepository]:
        """Return the sandbox, its repository, and that at the forge with its token."""
        sandbox = await self._sandboxes.get(caller, ref)
        check_may_manage(caller, sandbox)
        if not 0 <= number < len(sandbox.repos):
            raise Invalid(f"{sandbox.name} has no repository number {number}.", field="repo")
        repo = sandbox.repos[number]
        return sandbox, repo, await self._tokens.of_sandbox(sandbox, repo)

    async def _tell_states(
        self, sandbox: Sandbox, number: int, pulls: Sequence[PullRequest]
    ) -> None:
        """Record a state that the forge shows before `PullWatch` looks."""
        known = (await self._works.one(sandbox)).pull
        if known is None or known.repo != number:
            return
        for pull in pulls:
            if pull.number == known.pull and pull.state is not known.state:
                record = msgspec.structs.replace(known, base=pull.base, commit=pull.commit)
                await record_state(self._log, sandbox, record, pull.state)

    async def _tell_newer(
        self, caller: Principal, sandbox: Sandbox, number: int, pull: PullRequest
    ) -> None:
        """Record that an open pull request has newer commits of the sandbox."""
        known = (await self._works.one(sandbox)).pull
        newest = (number, pull.number, pull.commit)
        if known is None or (known.repo, known.pull, known.commit) != newest:
            await self._log.append(caller, sandbox, "git.pull_updated", _payload(number, pull))


def _payload(number: int, pull: PullRequest) -> dict[str, Json]:
    """Return what events say of a pull request of repository number `number`."""
    return {
        "repo": number,
        "branch": pull.branch,
        "base": pull.base,
        "commit": pull.commit,
        "pull": pull.number,
    }


def _issue_of(sandbox: Sandbox) -> IssueAddress | None:
    """Return the address of the issue or pull request that the sandbox's task began with."""
    issue = None if sandbox.task is None else sandbox.task.issue
    return None if issue is None else read_issue_address(issue)


def _began_with(sandbox: Sandbox, at: ForgeRepository, pull: PullRequest) -> bool:
    """Report whether the sandbox's task began with this pull request."""
    issue = _issue_of(sandbox)
    if issue is None or issue.kind is not IssueKind.PULL or issue.number != pull.number:
        return False
    return issue.repo_url.lower() == f"{at.site}/{at.owner}/{at.name}".lower()


def _new_pull(
    sandbox: Sandbox, at: ForgeRepository, offer: PullOffer, *, branch: str, base: str
) -> NewPull:
    title, text, issue = offer.title, offer.text, _issue_of(sandbox)
    if title is None:
        words = "" if sandbox.task is None else sandbox.task.prompt
        title = plain_line(words.strip().partition("\n")[0])
    if issue is not None and issue.kind is IssueKind.ISSUE:
        text = with_answer(text, issue, at)
    return NewPull(branch, base, title, text, offer.draft)


def _check_same(there: PullRequest, new: NewPull, offer: PullOffer) -> None:
    """Check that an open pull request is as another would be. What the offer leaves out matches
    anything. Raises `Conflict`."""
    wanted = (
        ("title", offer.title is None or plain_line(new.title) == there.title),
        ("text", not offer.text.split() or plain_text(new.text).split() == there.text.split()),
        ("draft", there.draft or not new.draft),
    )
    for field, same in wanted:
        if not same:
            raise Conflict(
                f"Pull request {there.number} of {there.branch} is open already, with another "
                f"{field}: change it at the forge, or send what it has.",
                field=field,
            )


@dataclass(frozen=True, slots=True)
class _Push:
    """A push of a branch. `moved`: it was refused because the remote's branch has other commits.
    `messages` are git's."""

    branch: str
    commit: str
    moved: bool
    messages: str


async def _push_branch(client: RuntimeClient, repo: SandboxRepo, branch: str) -> _Push:
    """Push a branch; what was not pushed shows at the forge. Raises `NotFound`."""
    ended = await run_inside(client, PUSH, (repo.path, repo.repo_url, branch))
    if ended.code == NOT_A_REPOSITORY:
        raise NotFound(f"{repo.path} in the sandbox is no git repository any more.")
    if ended.code == NO_BRANCH:
        raise NotFound(f"The sandbox has no branch {branch or 'checked out'!r} in {repo.path}.")
    try:
        name, commit, moved = (part.decode() for part in ended.out.split(b"\0")[:3])
        return _Push(read_branch(name), read_commit(commit), moved == "moved", ended.said)
    except (ValueError, Invalid) as error:
        raise Failed(
            "The sandbox did not say what it pushed: its git or shell is broken."
        ) from error


def _refusal(sandbox: Sandbox, at: ForgeRepository, push: _Push) -> Conflict:
    """Return why the forge does not have what was pushed, and what to do."""
    if push.moved:
        return Conflict(
            f"{push.branch} at {at.site} has commits that {sandbox.name} does not have, and "
            f"nothing was overwritten: bring them in with `atoll sync {sandbox.name} --onto "
            f"{push.branch}`, then try again.",
            code="target_moved",
        )
    more = f" Git said: {push.messages}." if push.messages else ""
    return Conflict(
        f"{at.site} does not have {push.branch} at {push.commit[:12]}: the push was held or "
        f"refused.{more} A secret lets it out (`atoll secret set REMOTE --git URL --push "
        "'refs/heads/*'`); or pull the branch, and push it yourself.",
        code="not_pushed",
    )
