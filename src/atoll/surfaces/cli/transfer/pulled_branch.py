"""Bringing a sandbox's commits into a branch of the person's own checkout.

The bundle was checked by the server and is checked again by git here. It becomes one branch,
never the working tree; no hook, filter or configuration of the sandbox takes part.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from atoll.client.client import Client
from atoll.client.transport import Call, api_path, post
from atoll.domain.errors import Conflict, Failed, Forbidden, Invalid, NotFound
from atoll.domain.repository.branch import branch_of_ref, read_branch
from atoll.surfaces.cli.transfer.judged_commit import judge_commit
from atoll.surfaces.cli.transfer.local_git import LocalGit
from atoll.surfaces.cli.transfer.local_repo import check_room
from atoll.surfaces.cli.transfer.sparse import FreeSpace, write_sparse
from atoll.wire.git.bundle import MAX_HEADER_BYTES, BundleHeader, MalformedBundle, read_header

BUNDLE_SECONDS = 1800.0
SNAPSHOT_EMAIL, SNAPSHOT_SUBJECT = "atoll@atoll.invalid", "Work that was not committed"
"""Marks of the commit that holds what was not committed inside."""


BEFORE = "refs/atoll/before-pull/"
"""The folder of refs that keep what a branch was, by the start of its commit."""


@dataclass(frozen=True, slots=True)
class BranchRequest:
    """Branch to fetch: `repo` counts the sandbox's repositories from 0, `branch` None is the
    sandbox's own. `force` takes commits off the branch that only it has. `repositories` accepts
    commits that hold a repository of their own. `uncommitted` brings what is not committed, as one
    commit more. A held push is brought only while it is at `expects`, where that is given."""

    repo: int = 0
    branch: str | None = None
    force: bool = False
    repositories: bool = False
    uncommitted: bool = False
    expects: str | None = None


@dataclass(frozen=True, slots=True)
class PulledBranch:
    """Fetched branch: `branch` of the checkout is now at `commit`, `commits` more than before;
    `flagged` are changed files that can run something on this machine. `kept` is the ref that holds
    what the branch was, where that is no part of what it is."""

    branch: str
    commit: str
    commits: int
    flagged: tuple[str, ...]
    kept: str | None = None

    def __str__(self) -> str:
        first = f"branch {self.branch} is at {self.commit[:12]}, {self.commits} new commit(s)"
        if self.kept:
            first += f"; what it was is kept as {self.kept}"
        if not self.flagged:
            return first
        return f"{first}; look at these before you use them: {', '.join(self.flagged)}"


def pull(
    api: Client, sandbox: str, checkout: Path, *, wanted: BranchRequest, into: str | None = None
) -> PulledBranch:
    """Bring one branch of a sandbox into `into` (its own name when None) of `checkout`. Raises
    `Conflict` with code `nothing_new` when there is nothing to bring, and as `take_in`."""
    act = act_of(api, sandbox)
    with fetch_bundle(api, sandbox, wanted) as bundle:
        pulled = take_in(checkout, bundle, branch=into, wanted=wanted, act=act)
    report_pull(api, sandbox, wanted.repo, _committed_parent(LocalGit(checkout), pulled.commit))
    return pulled


def act_of(api: Client, sandbox: str) -> str:
    """Return what the reflog of a branch calls a pull from this sandbox."""
    try:
        return f"atoll pull {api.sandboxes.get(sandbox).sandbox_id}"
    except NotFound:  # it is destroyed: its id was given
        return f"atoll pull {sandbox}"


def report_pull(api: Client, sandbox: str, repo: int, commit: str) -> None:
    """Report the pull to the server, so that these commits no longer count as work to be lost. A
    guest of a shared sandbox may pull, but its owner decides what may be lost."""
    with suppress(Forbidden):
        api.transport.call(
            post("sandboxes", sandbox, "pulled", value={"repo": repo, "commit": commit})
        )


@contextmanager
def fetch_bundle(api: Client, sandbox: str, wanted: BranchRequest) -> Iterator[Path]:
    """Fetch a sandbox's new commits into a temporary bundle, gone when the context ends."""
    branch = ((("branch", wanted.branch),)) if wanted.branch else ()
    more = (("uncommitted", "true"),) if wanted.uncommitted else ()
    query = (("repo", str(wanted.repo)), *branch, *more)
    call = Call("GET", api_path("sandboxes", sandbox, "bundle"), query, timeout=BUNDLE_SECONDS)
    with tempfile.TemporaryDirectory(prefix="atoll-pull-") as folder:
        file = Path(folder) / "pulled.bundle"
        with api.transport.open(call) as stream, file.open("wb") as target:
            write_sparse(target, iter(stream.read, b""), FreeSpace(file.parent))
        yield file


def take_in(
    checkout: Path,
    bundle: Path,
    *,
    branch: str | None = None,
    wanted: BranchRequest | None = None,
    act: str = "atoll pull",
) -> PulledBranch:
    """Fetch the bundle's branch into `branch` of `checkout` (its own name when None). A branch that
    `act` moved last, or all of whose changes come again, is moved also where its commits were
    rewritten inside. Raises `Conflict` when that branch is checked out, has no room here, would
    lose commits (`force` moves it all the same), holds a repository (`repositories` lets it), or
    the checkout lacks the commits the work began from."""
    wanted = wanted or BranchRequest()
    git = LocalGit(checkout)
    header = header_of(bundle)
    (ref, commit), *rest = header.refs
    source = branch_of_ref(ref)
    if source is None or rest:
        raise Invalid("The bundle holds something other than one branch.")
    target = read_branch(branch or source)
    check_base(git, header)
    check_room(git, target, advice="name another branch (`atoll pull NAME other`)")
    before = git.try_("rev-parse", "-q", "--verify", f"refs/heads/{target}").text
    flagged = judge_bundle(git, bundle, header, allowed=wanted.repositories)[commit]
    snapshot = _is_snapshot(git, before, commit)
    force = snapshot or wanted.force or _is_ours(git, target, before, commit, act=act)
    backup = _keep(git, before, commit) if force and not snapshot else None
    refspec = f"{'+' if force else ''}{ref}:refs/heads/{target}"
    fetch = git.try_(
        "fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-gc",
        "--no-recurse-submodules", "--", str(bundle.absolute()), refspec, act=act,
    )  # fmt: skip
    if fetch.code != 0:
        if backup is not None:
            git.try_("update-ref", "-d", backup)
        raise _refusal(fetch.why, target)
    known = [f"^{known}" for known in (before, *header.prerequisites) if known]
    count = git.ask("rev-list", "--count", "--stdin", stdin="\n".join([commit, *known]).encode())
    return PulledBranch(target, commit, int(count), flagged, backup)


def _is_ours(git: LocalGit, target: str, before: str, commit: str, *, act: str) -> bool:
    """Return whether a branch holds nothing but what came from the sandbox: a pull from it moved
    the branch last, or every commit comes again with the same change, as a rebase makes them."""
    if not before:
        return False
    entry = git.try_("reflog", "show", "-1", "--format=%H %gs", f"refs/heads/{target}", "--").text
    if entry.startswith(f"{before} {act}: "):
        return True
    if git.try_("rev-list", "--merges", "--max-count=1", f"{commit}..{before}").text:
        return False  # `git cherry` passes over merges
    equal = git.try_("cherry", commit, before)
    return equal.code == 0 and not any(line.startswith("+") for line in equal.text.splitlines())


def _keep(git: LocalGit, before: str, commit: str) -> str | None:
    """Keep what a branch was as a ref, where it is no part of what it becomes; return the ref."""
    if not before or git.try_("merge-base", "--is-ancestor", before, commit).code == 0:
        return None
    ref = f"{BEFORE}{before[:12]}"
    git.ask("update-ref", ref, before)
    return ref


def judge_bundle(
    git: LocalGit, bundle: Path, header: BundleHeader, *, allowed: bool
) -> dict[str, tuple[str, ...]]:
    """Bring the bundle's objects in, without any name, and judge its commits: each with the files
    that can run something here. Raises as `judge_commit` does, and `Failed`."""
    FreeSpace(git.folder).admit(bundle.stat().st_size, "the bundle of commits")
    fetch = git.try_(
        "fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-gc",
        "--no-recurse-submodules", "--", str(bundle.absolute()), *(ref for ref, _ in header.refs),
    )  # fmt: skip
    if fetch.code != 0:
        raise Failed(f"The commits could not be fetched: {fetch.why}")
    return {
        commit: judge_commit(git, header.prerequisites, commit, repositories_allowed=allowed)
        for _, commit in header.refs
    }


def header_of(bundle: Path) -> BundleHeader:
    """Return the header of a bundle the server sent. Raises `Failed`."""
    with bundle.open("rb") as file:
        start = file.read(MAX_HEADER_BYTES)
    try:
        return read_header(start)
    except MalformedBundle as error:
        raise Failed(f"The server sent something that is not a git bundle: {error}.") from error


def check_base(git: LocalGit, header: BundleHeader) -> None:
    """Raise `Conflict` code `base_missing` where the checkout lacks commits the bundle needs."""
    if not header.prerequisites:
        return
    asked = "\n".join(header.prerequisites).encode()
    answer = git.ask("cat-file", "--batch-check=%(objecttype)", stdin=asked)
    if any(line != "commit" for line in answer.splitlines()):
        raise Conflict(
            f"{git.folder} lacks the commits this work began from: run `git fetch` there, or pull "
            "into a clone of the same repository.",
            code="base_missing",
        )


def _is_snapshot(git: LocalGit, before: str, commit: str) -> bool:
    """Return whether `before` is what an earlier `--uncommitted` made, on top of commits that
    `commit` has too: replacing it loses nothing that was committed."""
    under = _committed_parent(git, before) if before else before
    return under != before and git.try_("merge-base", "--is-ancestor", under, commit).code == 0


def _committed_parent(git: LocalGit, commit: str) -> str:
    """Return the commit below one that `--uncommitted` made; any other commit as it is."""
    shown = git.ask("show", "-s", "--no-show-signature", "--format=%ae%x00%s%x00%P", commit)
    email, subject, parents = shown.split("\0", 2)
    made = (email, subject) == (SNAPSHOT_EMAIL, SNAPSHOT_SUBJECT) and len(parents.split()) == 1
    return parents if made else commit


def _refusal(why: str, target: str) -> Conflict | Failed:
    if "checked out" in why or "current branch" in why:
        return Conflict(
            f"Branch {target!r} is checked out here and your working tree is never touched: name "
            f"another branch (`atoll pull NAME other`), then `git merge other`.",
            code="branch_checked_out",
        )
    if "non-fast-forward" in why or "rejected" in why:
        return Conflict(
            f"Branch {target!r} here has commits the sandbox does not have: name another branch, "
            f"or move this one by `atoll pull NAME --force`, which keeps them below {BEFORE}.",
            code="not_fast_forward",
        )
    return Failed(f"The commits could not be fetched: {why}")
