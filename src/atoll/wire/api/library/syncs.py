"""Syncs: newer commits of a person's branch, brought into a sandbox."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import RepoIndex, SandboxRef
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.library import SyncAct, SyncOutcome


class SyncBody(Request):
    """The branch to rebase onto (by default the one the sandbox's branch began from). `abort` gives
    up a rebase that stopped, `look` changes nothing. With `agent`, the sandbox's agent is prompted
    to resolve a conflict. While an agent works, only `now` syncs."""

    repo: RepoIndex = 0
    onto: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    act: SyncAct = SyncAct.REBASE
    agent: bool = False
    now: bool = False


class SyncView(Answer):
    """The result: HEAD is at `commit` after `commits` newer ones. `files` are in conflict; `more`
    counts those left out. With `stashed`, uncommitted changes did not fit and are in a stash."""

    outcome: SyncOutcome
    onto: str
    commit: str
    commits: int
    files: list[str]
    more: int
    stashed: bool
    agent: str | None


class Syncs(Area):
    """Newer commits for sandboxes."""

    tag = "sandboxes"
    needs = "file.write"

    @operation("POST /v1/sandboxes/{sandbox}/sync", name="sync_sandbox", problems=(404, 409, 502))
    def sync(self, sandbox: SandboxRef, body: SyncBody) -> SyncView:
        """Bring newer commits into the sandbox and rebase its branch onto them."""
