"""Pull requests of a sandbox's branches, at the forge of its repository.

The branch leaves by `git push` inside, as far as the secret of its remote allows it. The forge is
then asked in the name of another secret, whose token no sandbox receives. Nothing of a pull request
is kept here: the forge is asked each time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from atoll.domain.errors import Conflict, Failed, Invalid, NotFound
from atoll.domain.event import Json, sandbox_stream
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
    repository_at,
)
from atoll.domain.repository.repository import read_commit
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo, check_may_manage
from atoll.domain.secrets.secret import Secret, applicable_secrets, bound_to
from atoll.ports.outside.forge import Forge
from atoll.ports.runtime import RuntimeClient
from atoll.ports.store.secrets import Kept
from atoll.ports.vault import Vault
from atoll.services.ground import Ground
from atoll.services.journals.events import Events, Note
from atoll.services.library.checkout_scripts import NOT_A_REPOSITORY
from atoll.services.policies.policies import scope_subject
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.scripts import Script, run_inside
from atoll.wire.words.forges import PullState
from atoll.wire.words.secrets import Purpose

NO_BRANCH = 16

# It runs inside, as the agent: the sandbox's door decides whether the branch may leave, by the
# secret of the remote. Hooks of the agent's repository take no part.
# $1 folder  $2 https address of the remote  $3 branch, or nothing for the one that is checked out
# Prints, each ended by NUL: the branch and its commit. Ends with 0 also where git did not push: the
# forge says what it has.
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
git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c push.gpgSign=false \
  push -q "$url" "$commit:refs/heads/$branch" >&2
exit 0
""",
    seconds=300.0,
)


@dataclass(frozen=True, slots=True)
class PullOffer:
    """A request for a pull request of repository number `repo`. `branch` None is the branch that is
    checked out, `base` None the one that it began from."""

    title: str
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
        ground: Ground,
        sandboxes: Sandboxes,
        *,
        access: RuntimeAccess,
        forge: Forge,
        vault: Vault,
        events: Events,
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._access = access
        self._forge = forge
        self._vault = vault
        self._events = events

    async def open(self, caller: Principal, ref: str, offer: PullOffer) -> ForgePull:
        """Push the branch and open its pull request; one that is open already is returned, if it is
        as this one would be. Raises `Conflict` with the field that differs, with code `not_pushed`
        when the forge does not have the branch's newest commit afterwards, `pull_refused` when it
        takes no pull request."""
        sandbox, repo, at = await self._place(caller, ref, offer.repo)
        sandbox, client = await self._access.runtime(caller, sandbox.id)
        wanted = "" if offer.branch is None else read_branch(offer.branch)
        branch, commit, git_message = await _push_branch(client, repo, wanted)
        base = read_branch(
            offer.base
            or repo.from_branch
            or repo.began_from
            or await self._forge.default_branch(at),
            field="base",
        )
        new = check_new_pull(NewPull(branch, base, offer.title, offer.text, offer.draft))
        if await self._forge.commit_of(at, branch) != commit:
            raise Conflict(_not_pushed(at, branch, commit, git_message), code="not_pushed")
        for pull in await self._forge.pulls(at, branch):
            if pull.state is PullState.OPEN and pull.base == base:
                _check_same(pull, new)
                return ForgePull(pull, at.pull_url(pull.number))
        made = await self._forge.open_pull(at, new)
        await self._tell(caller, sandbox, offer.repo, made)
        return ForgePull(made, at.pull_url(made.number), existed=False)

    async def of(
        self, caller: Principal, ref: str, *, repo: int = 0, branch: str | None = None
    ) -> Sequence[ForgePull]:
        """Return the pull requests from a branch (that of the sandbox by default), newest first."""
        _, there, at = await self._place(caller, ref, repo)
        wanted = there.branch if branch is None else read_branch(branch)
        pulls = await self._forge.pulls(at, wanted)
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
        async with self._ground.store.read() as rows:
            entries = await rows.secrets.sealed(caller.org_id, caller.id)
        for entry in entries:
            use = entry.secret.use
            if use.forge is not None and secret in (entry.secret.id, entry.secret.name):
                at = ForgeRepository(use.forge, use.target, "", "", self._open_token(entry))
                names = await self._forge.repositories(at)
                return tuple(f"{use.target}/{name}" for name in names)
        raise NotFound(f"There is no secret {secret[:80]!r} for a forge: list them to see.")

    async def _place(
        self, caller: Principal, ref: str, number: int
    ) -> tuple[Sandbox, SandboxRepo, ForgeRepository]:
        """Return the sandbox, its repository, and that at the forge with its token."""
        sandbox = await self._sandboxes.get(caller, ref)
        check_may_manage(caller, sandbox)
        if not 0 <= number < len(sandbox.repos):
            raise Invalid(f"{sandbox.name} has no repository number {number}.", field="repo")
        repo = sandbox.repos[number]
        async with self._ground.store.read() as rows:
            entries = await rows.secrets.sealed(sandbox.org_id, sandbox.owner)
        sealed = {entry.secret.id: entry for entry in entries}
        for secret in applicable_secrets(
            (entry.secret for entry in entries), scope_subject(sandbox)
        ):
            location = _at_forge(secret, repo)
            if location is not None:
                token = self._open_token(sealed[secret.id])
                return sandbox, repo, ForgeRepository(
                    location.kind, location.site, location.owner, location.name, token
                )  # fmt: skip
        place = repo.repo_url or f"{repo.path}, which came from a checkout,"
        raise NotFound(
            f"No secret of this sandbox's owner is for the forge of {place}: set one with `atoll "
            "secret set FORGE --forge github`.",
            code="no_forge",
        )

    def _open_token(self, entry: Kept) -> str:
        return self._vault.open(entry.sealed, bound_to(entry.secret))

    async def _tell(
        self, caller: Principal, sandbox: Sandbox, number: int, made: PullRequest
    ) -> None:
        payload: dict[str, Json] = {
            "sandbox_id": sandbox.id,
            "generation": sandbox.generation,
            "repo": number,
            "branch": made.branch,
            "base": made.base,
            "commit": made.commit,
            "pull": made.number,
        }
        note = Note(sandbox_stream(sandbox.id), "git.pull_opened", payload)
        await self._events.record(caller, note)


def _check_same(there: PullRequest, new: NewPull) -> None:
    """Check that an open pull request is as another would be. Raises `Conflict`."""
    wanted = (
        ("title", plain_line(new.title) == there.title),
        ("text", plain_text(new.text).split() in ([], there.text.split())),
        ("draft", there.draft or not new.draft),
    )
    for field, same in wanted:
        if not same:
            raise Conflict(
                f"Pull request {there.number} of {there.branch} is open already, with another "
                f"{field}: change it at the forge, or send what it has.",
                field=field,
            )


async def _push_branch(
    client: RuntimeClient, repo: SandboxRepo, branch: str
) -> tuple[str, str, str]:
    """Push a branch. Returns its name, its commit and git's messages. Raises `NotFound`."""
    ended = await run_inside(client, PUSH, (repo.path, repo.repo_url, branch))
    if ended.code == NOT_A_REPOSITORY:
        raise NotFound(f"{repo.path} in the sandbox is no git repository any more.")
    if ended.code == NO_BRANCH:
        raise NotFound(f"The sandbox has no branch {branch or 'checked out'!r} in {repo.path}.")
    try:
        name, commit = (part.decode() for part in ended.out.split(b"\0")[:2])
        return read_branch(name), read_commit(commit), ended.said
    except (ValueError, Invalid) as error:
        raise Failed(
            "The sandbox did not say what it pushed: its git or shell is broken."
        ) from error


def _at_forge(secret: Secret, repo: SandboxRepo) -> ForgeRepository | None:
    use = secret.use
    if use.purpose is not Purpose.FORGE or use.forge is None:
        return None
    return repository_at(use.forge, use.target, repo.repo_url)


def _not_pushed(at: ForgeRepository, branch: str, commit: str, git_message: str) -> str:
    more = f" Git said: {git_message}." if git_message else ""
    return (
        f"{at.site} does not have {branch} at {commit[:12]}: the push was held or refused.{more} "
        "A secret lets it out (`atoll secret set REMOTE --git URL --push 'refs/heads/*'`); or pull "
        "the branch, and push it yourself."
    )
