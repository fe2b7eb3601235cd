"""Unpulled work: work that would be lost with a sandbox, pushes that wait for their owner, and
commits that a person has outside."""

from atoll.wire.api.fields import CommitId, RepoIndex, SandboxRef
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.library import MAX_PUSHES


class PushView(Answer):
    """A held push: `commits` new commits of repository number `repo`, up to `commit`, whose first
    line is `subject`. `GET /v1/kept/{kept_id}/bundle` brings it."""

    kept_id: str
    repo: int
    branch: str
    ref: str
    commit: str
    commits: int
    subject: str
    bytes: int
    pushed_at: str
    kept_until: str


class PushList(Answer):
    """The held pushes of a sandbox, newest first."""

    pushes: list[PushView]


class UnpulledPlace(Answer):
    """Unpulled work of repository number `repo`, or with `repo` None the files beside all of them.

    `tip` is the newest of `commits` new commits, `subject` its first line; `more` counts the files
    that `changed` and `untracked` leave out."""

    path: str
    repo: int | None
    branch: str | None
    commits: int
    tip: str | None
    subject: str
    stashes: int
    changed: list[str]
    untracked: list[str]
    more: int


class UnpulledView(Answer):
    """Every place with such work; none when nothing would be lost. `pushes` are branches that were
    pushed inside and are held on the server; they stay there for their time."""

    places: list[UnpulledPlace]
    pushes: list[PushView]


class PulledBody(Request, kw_only=True):
    """Repository number `repo` is outside up to `commit`."""

    repo: RepoIndex = 0
    commit: CommitId


class UnpulledWork(Area):
    """Work that lies only in a sandbox, and pushes that are held on the server."""

    tag = "sandboxes"
    needs = "repository.read"

    @operation(
        "GET /v1/sandboxes/{sandbox}/pushes",
        name="list_pushes",
        problems=(403, 404, 502),
        max_items=MAX_PUSHES,
    )
    def pushes(self, sandbox: SandboxRef) -> PushList:
        """Return the branches that were pushed inside and wait for their owner."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/unpulled", name="unpulled_work", problems=(404, 409, 502)
    )
    def unpulled(self, sandbox: SandboxRef) -> UnpulledView:
        """Return the work that is lost when the sandbox is destroyed: commits nobody pulled,
        stashes, changed and untracked files. Pushes that are held for the owner are named, too."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/pulled",
        name="mark_pulled",
        status=204,
        needs="repository.write",
        problems=(404, 409),
    )
    def mark(self, sandbox: SandboxRef, body: PulledBody) -> None:
        """Record that the caller has a commit outside: it no longer counts as unpulled."""
