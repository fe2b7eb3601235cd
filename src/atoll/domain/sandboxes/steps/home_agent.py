"""Bounds of an agent without an account: nothing outside this home that its person did not allow.

Pure. It makes sandboxes without a network and of repositories that are here already, and runs
commands and agents in sandboxes without a network alone. The broker serves those as ever: the keys
and approvals there are its person's.
"""

from collections.abc import Container
from dataclasses import replace
from typing import Final

from atoll.domain.errors import AtollError, Forbidden
from atoll.domain.repository.repository import is_local_key, read_remote
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, Sandbox
from atoll.wire.words.networks import NetworkMode

REMEDY: Final = (
    "an agent without an account reaches nothing outside: its person gives it a token "
    "(`atoll token new`), or adds it by `atoll mcp --outside`"
)


def home_request(request: CreateSandbox, known: Container[str]) -> CreateSandbox:
    """Return a request of such an agent, without a network. `known` are the keys of repositories
    that are here. Raises `Forbidden`, with the field, for what reaches outside."""
    if request.network_mode not in (None, NetworkMode.NONE):
        raise Forbidden(
            f"network_mode {request.network_mode} needs the permission to reach outside; {REMEDY}",
            field="network_mode",
        )
    for repo in request.repos:
        if not _is_here(repo, known):
            raise Forbidden(
                f"{repo.repo_url[:200]!r} is not here yet, and to fetch it needs the permission to "
                f"reach outside; {REMEDY}",
                field="repo_url",
            )
    return replace(request, network_mode=NetworkMode.NONE)


def check_home(sandbox: Sandbox, act: str) -> None:
    """Check that such an agent may act in a sandbox. Raises `Forbidden` for one with a network."""
    mode = sandbox.profile.network.mode
    if mode is not NetworkMode.NONE:
        raise Forbidden(
            f"{act} in {sandbox.name} needs the permission to reach outside, as its network is "
            f"{mode}; {REMEDY}",
            field="sandbox",
        )


def _is_here(repo: RepoRequest, known: Container[str]) -> bool:
    if repo.key is not None and is_local_key(repo.key):
        return True
    try:
        return read_remote(repo.repo_url, allow_loopback=True).key in known
    except AtollError:
        return False
