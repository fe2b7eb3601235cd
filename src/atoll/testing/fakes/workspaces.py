"""Workspaces in which nothing is laid out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from atoll.domain.errors import AtollError
from atoll.domain.ids import OrgId
from atoll.domain.sandboxes.sandbox import RepoRequest, Sandbox, SandboxRepo
from atoll.ports.extension import Mount
from atoll.ports.runtime import RuntimeClient


@dataclass(slots=True)
class FakeWorkspaces:
    """A `ports.workspaces.WorkspacePreparer` and `WorkSaver` that mounts and saves nothing.

    `acts` lists what was done: `mounts`, `starts` (checked after a fetch), `prepare`, `settle`,
    `save`, `save_commits`. `failing` holds the error that an act raises, under `uploads` that of
    every key of a repository. `lacking` is the answer of `lacks_file`, by `fetched`; `files` are
    those of `read_file`, by path, which raises `unread` first, once.
    """

    acts: list[str] = field(default_factory=list)
    failing: dict[str, AtollError] = field(default_factory=dict)
    lacking: dict[bool, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    unread: AtollError | None = None

    async def mounts_for(
        self, org_id: OrgId, repos: tuple[SandboxRepo, ...], *, fetch: bool = True
    ) -> tuple[Mount, ...]:
        """See the port."""
        self._act("mounts")
        return ()

    async def check_starts(
        self,
        org_id: OrgId,
        repos: Sequence[RepoRequest | SandboxRepo],
        *,
        fetched: bool = False,
    ) -> None:
        """See the port."""
        if "uploads" in self.failing and any(repo.key for repo in repos):
            raise self.failing["uploads"]
        if fetched:
            self._act("starts")

    async def lacks_file(self, sandbox: Sandbox, path: str, *, fetched: bool) -> str | None:
        """See the port."""
        return self.lacking.get(fetched)

    async def read_file(self, sandbox: Sandbox, path: str, *, max_bytes: int) -> bytes | None:
        """See the port."""
        unread, self.unread = self.unread, None
        if unread is not None:
            raise unread
        return self.files.get(path)

    async def prepare(
        self, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
    ) -> tuple[SandboxRepo, ...]:
        """See the port."""
        self._act("prepare")
        report("Checked out.")
        return sandbox.repos

    async def settle(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """See the port."""
        self._act("settle")

    async def save_work(
        self, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
    ) -> None:
        """See the port."""
        self._act("save")

    async def save_commits(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """See the port."""
        self._act("save_commits")

    async def saved(self, sandbox: Sandbox) -> str | None:
        """See the port."""
        return "kept:fake" if "save_commits" in self.acts else None

    def _act(self, name: str) -> None:
        if name in self.failing:
            raise self.failing[name]
        self.acts.append(name)
