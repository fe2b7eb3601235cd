"""Bringing a merged branch home: the branch of the checkout moves forward.

Where that branch is checked out and nothing is changed, its files follow, as by `git merge
--ff-only` without hooks. Nothing else of a working tree is touched, and nothing is forced.
"""

from dataclasses import dataclass
from pathlib import Path

from atoll.client.client import Client
from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.errors import Conflict
from atoll.surfaces.cli.transfer.local_git import LocalGit
from atoll.surfaces.cli.transfer.pulled_branch import BranchRequest, pull

ASIDE = "atoll/"
"""The beginning of the branch that takes a merge where the branch itself cannot move."""


@dataclass(frozen=True, slots=True)
class CheckoutMerge:
    """A merged branch in the checkout: `branch` is at `commit`; `words` say what became of it.
    `flagged` are changed files that can run something on this machine."""

    branch: str
    commit: str
    words: str
    flagged: tuple[str, ...] = ()


def bring_merged(
    api: Client, sandbox: Sandbox, checkout: Path, *, repo: int, branch: str
) -> CheckoutMerge:
    """Move `branch` of the checkout to what was merged into it. Raises as `pull` does."""
    wanted = BranchRequest(repo, branch)
    try:
        pulled = pull(api, sandbox.sandbox_id, checkout, wanted=wanted, into=branch)
    except Conflict as error:
        if error.code != "branch_checked_out":
            raise
    else:
        words = f"{branch} of your checkout moved there"
        return CheckoutMerge(branch, pulled.commit, words, pulled.flagged)
    aside = f"{ASIDE}{branch}"
    pulled = pull(api, sandbox.sandbox_id, checkout, wanted=wanted, into=aside)
    git = LocalGit(checkout)
    changed = bool(git.ask("status", "--porcelain", "--untracked-files=no").strip())
    if changed or git.try_("merge", "--ff-only", "--quiet", pulled.commit).code != 0:
        why = "you have changes there" if changed else f"{branch} has other commits by now"
        words = f"{branch} is checked out and {why}: `git merge {aside}` brings it"
        return CheckoutMerge(aside, pulled.commit, words, pulled.flagged)
    git.try_("branch", "-q", "-D", aside)
    words = f"{branch} of your checkout, and its files, moved"
    return CheckoutMerge(branch, pulled.commit, words, pulled.flagged)
