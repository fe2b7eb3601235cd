"""Bringing what a recreate saved into branches of the person's own checkout.

Each bundle was checked by the server and is checked again by git here. Its refs become branches
below `atoll/saved/`; the working tree stays as it is.
"""

import tempfile
from pathlib import Path

from atoll.client.client import Client
from atoll.client.made.library.kept import Kept
from atoll.client.transport import Call, api_path
from atoll.domain.errors import Failed, Invalid
from atoll.domain.repository.branch import branch_of_ref, read_branch
from atoll.surfaces.cli.console.output import note, say
from atoll.surfaces.cli.transfer.local_git import LocalGit
from atoll.surfaces.cli.transfer.pulled_branch import (
    BUNDLE_SECONDS,
    BranchRequest,
    PulledBranch,
    check_base,
    header_of,
    judge_bundle,
)
from atoll.surfaces.cli.transfer.sparse import FreeSpace, write_sparse

WORKTREE = "worktree"


def list_saved(api: Client, sandbox: str) -> list[Kept]:
    """Return what was saved of a sandbox, named by name or id, newest first."""
    return [
        work
        for work in api.kept.list().kept
        if work.value.get("generation") is not None
        and sandbox in (work.sandbox_name, work.sandbox_id)
    ]


def bring_saved(
    api: Client, sandbox: str, checkout: Path, *, wanted: BranchRequest
) -> list[PulledBranch]:
    """Fetch all saved work of one of a sandbox's repositories. Raises `Conflict` when the checkout
    lacks its base or it holds a repository, `Failed` when a branch of that name is another's."""
    return [
        pulled
        for work in list_saved(api, sandbox)
        if wanted.repo in work.bundles
        for pulled in _bring(api, work, LocalGit(checkout), wanted)
    ]


def print_saved(sandbox: str, saved: list[Kept], brought: list[PulledBranch]) -> None:
    """Print each branch with the command that shows it, and where whole trees are."""
    for branch in brought:
        say(f"{branch.branch} is at {branch.commit[:12]}")
        if branch.branch.endswith(f"/{WORKTREE}"):
            note(f"  its files into your working tree: git checkout {branch.branch} -- .")
        else:
            note(f"  what is in it: git log -p HEAD..{branch.branch}")
        if branch.flagged:
            note(f"  look at these first; they can run something here: {', '.join(branch.flagged)}")
    for work in saved:
        if work.tree:
            generation = work.generation
            note(f"the whole tree of generation {generation}: atoll kept {work.kept_id}")
    if not saved:
        note(
            f"nothing was saved of {sandbox}: only `atoll recreate` and the stop of a worker do so"
        )


def _bring(api: Client, saved: Kept, git: LocalGit, wanted: BranchRequest) -> list[PulledBranch]:
    call = Call(
        "GET",
        api_path("kept", saved.kept_id, "bundle"),
        (("repo", str(wanted.repo)),),
        timeout=BUNDLE_SECONDS,
    )
    with tempfile.TemporaryDirectory(prefix="atoll-pull-") as folder:
        file = Path(folder) / "saved.bundle"
        with api.transport.open(call) as stream, file.open("wb") as target:
            write_sparse(target, iter(stream.read, b""), FreeSpace(file.parent))
        place = f"atoll/saved/{saved.sandbox_name}/{saved.generation}"
        return _take_in(git, file, place, allowed=wanted.repositories)


def _take_in(git: LocalGit, bundle: Path, place: str, *, allowed: bool) -> list[PulledBranch]:
    header = header_of(bundle)
    check_base(git, header)
    targets = {ref: _target(place, ref) for ref, _ in header.refs}
    flagged = judge_bundle(git, bundle, header, allowed=allowed)
    fetch = git.try_(
        "fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-gc",
        "--no-recurse-submodules", "--", str(bundle.absolute()),
        *(f"{ref}:refs/heads/{target}" for ref, target in targets.items()),
    )  # fmt: skip
    if fetch.code != 0:
        raise Failed(
            f"The saved work could not be fetched: {fetch.why}. Where a branch {place}/... of "
            "another sandbox is in the way, rename or delete it."
        )
    return [PulledBranch(targets[ref], commit, 0, flagged[commit]) for ref, commit in header.refs]


def _target(place: str, ref: str) -> str:
    name = branch_of_ref(ref)
    if name is None:
        raise Invalid("The bundle holds something other than branches.")
    return read_branch(f"{place}/{name}")
