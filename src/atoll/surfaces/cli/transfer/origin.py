"""Origins of a new sandbox's repositories: an address, or a checkout of this person's.

A checkout is read here and sent as a bundle; the server never opens a path.
"""

from dataclasses import dataclass
from pathlib import Path

from atoll.client.bodies import RepoBody, given
from atoll.client.client import Client
from atoll.domain.errors import Invalid
from atoll.domain.repository.repository import is_path, read_remote
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.console.progress import ProgressNote


@dataclass(frozen=True, slots=True)
class RepositoryOrigin:
    """Origin of a repository: `request` is an entry of `repos`, `folder` the checkout it was read
    from."""

    request: RepoBody
    folder: Path | None = None


def origins(api: Client, plan: SandboxPlan) -> list[RepositoryOrigin]:
    """Return every repository of the plan, sent where it is a checkout. Raises `Invalid` for what
    is neither an address nor a checkout."""
    found = []
    if plan.repo is not None:
        origin = _origin(api, plan.repo, branch=plan.branch, from_branch=plan.from_branch)
        if plan.sparse:
            origin.request["sparse"] = list(plan.sparse)
        found.append(origin)
    for spec in plan.also:
        repo, branch, start = read_spec(spec)
        found.append(_origin(api, repo, branch=branch or plan.branch, from_branch=start))
    return found


def read_spec(spec: str) -> tuple[str, str | None, str | None]:
    """Split `REPO[#BRANCH[:FROM]]`."""
    repo, _, rest = spec.partition("#")
    branch, _, start = rest.partition(":")
    return repo, branch or None, start or None


def _origin(
    api: Client, repo: str, *, branch: str | None, from_branch: str | None
) -> RepositoryOrigin:
    request: RepoBody = {"branch": branch, "from_branch": from_branch}
    if not is_path(repo):
        # The server checks whether it may be dialled; here only what is no address ends.
        request["repo_url"] = _address(repo)
        return RepositoryOrigin(given(request))
    from atoll.surfaces.cli.transfer.local_repo import describe, upload

    checkout = describe(Path(repo).expanduser())
    if checkout.dirty:
        note(f"{checkout.root}: what is not committed stays here")
    with ProgressNote(f"sending {checkout.name}") as progress:
        sent = upload(api, checkout, also=from_branch, say=lambda line: progress.tell([line]))
    request["repo_url"] = checkout.label
    request["key"] = sent.key or checkout.key
    request["from_branch"] = from_branch or checkout.branch
    return RepositoryOrigin(given(request), checkout.root)


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
