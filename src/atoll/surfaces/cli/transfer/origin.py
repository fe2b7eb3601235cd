"""Origins of a new sandbox's repositories: an address, or a checkout of this person's.

A checkout is read here and sent as a bundle; the server never opens a path.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from atoll.client.client import Client
from atoll.client.made.library.repositories import RepositoryWithRefs
from atoll.client.made.sandboxes.requests import RepoBody
from atoll.client.transport import omit_empty, post
from atoll.domain.errors import Invalid
from atoll.domain.repository.branch import read_new_branch
from atoll.domain.repository.repository import is_path, read_remote
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.console.progress import ProgressNote

if TYPE_CHECKING:
    from atoll.surfaces.cli.transfer.local_repo import LocalRepo

_HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class RepositoryOrigin:
    """Origin of a repository: `request` is an entry of `repos`, `folder` the checkout it was read
    from."""

    request: RepoBody
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class NamedBranch:
    """The branch of a new sandbox as it was named: `start` is where it begins, `base` the one that
    its name was made from."""

    branch: str | None = None
    start: str | None = None
    base: str | None = None

    @property
    def source(self) -> str | None:
        """The branch whose commits are needed."""
        return self.start or self.base or self.branch


def origins(api: Client, plan: SandboxPlan, *, base: str | None = None) -> list[RepositoryOrigin]:
    """Return every repository of the plan, sent where it is a checkout. `base` is the branch that
    several agents go on from, each on one of its own. Raises `Invalid` for what is neither an
    address nor a checkout."""
    repositories = []
    if plan.repo is not None:
        named = NamedBranch(plan.branch, plan.from_branch, base)
        origin = _origin(api, plan.repo, named)
        if plan.sparse:
            origin.request["sparse"] = list(plan.sparse)
        repositories.append(origin)
    for spec in plan.also:
        repo, branch, start = read_spec(spec)
        named = NamedBranch(branch or plan.branch, start, None if branch else base)
        repositories.append(_origin(api, repo, named))
    return repositories


def read_spec(spec: str) -> tuple[str, str | None, str | None]:
    """Split `REPO[#BRANCH[:FROM]]`."""
    repo, _, rest = spec.partition("#")
    branch, _, start = rest.partition(":")
    return repo, branch or None, start or None


def _origin(api: Client, repo: str, named: NamedBranch) -> RepositoryOrigin:
    request: RepoBody = {"branch": named.branch, "from_branch": named.start}
    if not is_path(repo):
        # The server checks whether it may be dialled; here only what is no address ends.
        request["repo_url"] = url = _address(repo)
        if named.base and not named.start:
            fetched = post("repositories", "fetch", value={"repo_url": url})
            there = _branches(api.transport.read(RepositoryWithRefs, fetched))
            request["from_branch"] = named.base if named.base in there else None
        return RepositoryOrigin(omit_empty(request))
    from atoll.surfaces.cli.transfer.local_git import LocalGit
    from atoll.surfaces.cli.transfer.local_repo import (
        check_room,
        describe,
        refuse_other_names,
    )
    from atoll.surfaces.cli.transfer.upload import upload

    checkout = describe(Path(repo).expanduser())
    if named.source is not None and named.start is None:
        refuse_other_names(checkout, named.source)
    if named.branch is not None:
        new = read_new_branch(named.branch)
        check_room(LocalGit(checkout.root), new, advice="choose another name")
    if checkout.dirty:
        note(f"{checkout.root}: what is not committed stays here")
    with ProgressNote(f"sending {checkout.name}") as progress:
        sent = upload(api, checkout, also=named.source, say=lambda line: progress.report([line]))
    request["repo_url"] = checkout.label
    request["key"] = sent.key or checkout.key
    request["from_branch"] = _find_start(checkout, named, sent)
    return RepositoryOrigin(omit_empty(request), checkout.root)


def _branches(repository: RepositoryWithRefs) -> dict[str, str]:
    """Return the commit of each branch."""
    heads = (ref for ref in repository.refs if ref.name.startswith(_HEADS))
    return {ref.name.removeprefix(_HEADS): ref.commit for ref in heads}


def _address(repo: str) -> str:
    """Return the address of a remote. Says what was taken where a folder here has that name."""
    here = Path(repo).is_dir()
    try:
        address = read_remote(repo, allow_loopback=True).repo_url
    except Invalid as error:
        if here:
            raise Invalid(f"{repo} is no address; the folder here is `./{repo}`") from error
        raise
    if here:
        note(f"atoll: taking the repository {address}; the folder of that name is `./{repo}`")
    return address


def _find_start(checkout: "LocalRepo", named: NamedBranch, sent: RepositoryWithRefs) -> str | None:
    """Return the branch to begin from, None where the named one goes on. Raises `Invalid` for one
    that neither the checkout nor its remote nor the server knows."""
    there = _branches(sent)
    if named.start is not None:
        if named.start not in there:
            raise Invalid(f"{checkout.root} has no branch {named.start!r}.", field="from_branch")
        if named.branch in there and named.branch != named.start:
            note(
                f"{named.branch} is there already, at {there[named.branch][:12]}: this one begins "
                f"at {named.start} all the same"
            )
        return named.start
    if named.source is None:
        return checkout.branch or None
    if named.source not in there:
        note(f"{named.source} is new, from {checkout.branch} at {checkout.commit[:12]}")
        return checkout.branch
    if named.source != checkout.branch:
        note(f"{named.branch} goes on from {named.source} at {there[named.source][:12]}")
    return None if named.source == named.branch else named.source
