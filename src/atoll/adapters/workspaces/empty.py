"""Workspaces that start empty."""

from collections.abc import Callable, Sequence

from atoll.domain.errors import Invalid
from atoll.domain.ids import OrgId
from atoll.domain.sandboxes.sandbox import RepoRequest, Sandbox, SandboxRepo
from atoll.ports import Mount, RuntimeClient

_NONE = "This Atoll keeps no repositories: make a sandbox without."


class EmptyWorkspaces:
    """A `ports.workspaces.WorkspacePreparer` and `WorkSaver` where repositories are not
    available."""

    async def mounts_for(
        self, org_id: OrgId, repos: tuple[SandboxRepo, ...], *, fetch: bool = True
    ) -> tuple[Mount, ...]:
        """Return no mounts. Raises `Invalid` when a repository was requested."""
        if repos:
            raise Invalid(_NONE)
        return ()

    async def check_starts(
        self,
        org_id: OrgId,
        repos: Sequence[RepoRequest | SandboxRepo],
        *,
        fetched: bool = False,
    ) -> None:
        """Refuse every upload with `Invalid`: none is here. Remotes are refused as they are
        fetched."""
        if any(repo.key is not None for repo in repos):
            raise Invalid(_NONE, field="repos")

    async def lacks_file(self, sandbox: Sandbox, path: str, *, fetched: bool) -> str | None:
        """Return None: there is no repository that could lack a file."""
        return None

    async def read_file(self, sandbox: Sandbox, path: str, *, max_bytes: int) -> bytes | None:
        """Return None: there is no repository that could have a file."""
        return None

    async def prepare(
        self, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
    ) -> tuple[SandboxRepo, ...]:
        """Do nothing: there is nothing to lay out."""
        return sandbox.repos

    async def settle(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Do nothing: there is nothing to settle."""

    async def save_work(
        self, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
    ) -> None:
        """Do nothing: there is nothing to save."""

    async def save_commits(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Do nothing: there is nothing to save."""

    async def saved(self, sandbox: Sandbox) -> str | None:
        """Return None: nothing is ever saved."""
        return None
