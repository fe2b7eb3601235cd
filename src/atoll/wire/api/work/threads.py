"""Review threads: what people say about lines of a sandbox's change."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId, RepoIndex, RepoNumber, SandboxRef
from atoll.wire.api.library.changes import (
    FAILURES,
    CheckpointNumber,
    Compared,
    TreePath,
)
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.library import (
    MAX_ANCHOR_LINES,
    MAX_LINE,
    MAX_REMARK_BYTES,
    MAX_THREADS,
    MAX_THREADS_SENT,
    Against,
    Side,
)

RemarkText = Annotated[str, Meta(min_length=1, max_length=MAX_REMARK_BYTES)]
FormerPath = Annotated[TreePath | None, Meta(description="Its former name, where it has one.")]


class RemarkBody(Request):
    """A remark, as text."""

    text: RemarkText


class ThreadBody(Request):
    """A thread to open with its first remark. It is about the `lines` from number `line` on, on one
    side of the diff of a file; without lines (and `line` 0) about the whole file, and without
    `path` about the whole change."""

    text: RemarkText
    repo: RepoIndex = 0
    path: Annotated[str, Meta(max_length=4096)] = ""
    side: Side = Side.NEW
    line: Annotated[int, Meta(ge=0, le=MAX_LINE)] = 0
    lines: Annotated[tuple[str, ...], Meta(max_length=MAX_ANCHOR_LINES)] = ()


class ThreadChangeBody(Request):
    """A change of a thread."""

    resolved: bool


class SendThreadsBody(Request):
    """The threads to send to an agent, each by its id."""

    agent_id: ItemId
    threads: Annotated[tuple[ItemId, ...], Meta(min_length=1, max_length=MAX_THREADS_SENT)]


class RemarkView(Answer):
    """A remark. `author` is an id; `author_name` is how they were called then, null where they had
    no name. `edited_at` is when they last changed it."""

    remark_id: str
    author: str
    author_name: str | None
    text: str
    at: str
    edited_at: str | None


class ResolutionView(Answer):
    """The settling of a thread."""

    by: str
    by_name: str | None
    at: str


class ThreadSendingView(Answer):
    """The last sending of a thread, to the agent of this id."""

    by: str
    by_name: str | None
    agent_id: str
    agent: str
    at: str


class ReviewThreadView(Answer):
    """A thread; its place is the one where it was opened. `unsent`: it is open, and says something
    that no agent has received."""

    thread_id: str
    repo: int
    path: str
    side: Side
    line: int
    lines: list[str]
    opened_at: str
    remarks: list[RemarkView]
    resolved: ResolutionView | None
    sent: ThreadSendingView | None
    unsent: bool


class ReviewThreadList(Answer):
    """The threads of a sandbox, oldest first."""

    threads: list[ReviewThreadView]


class ThreadPlace(Answer):
    """The place of a thread now: the number of its first line on its side, 0 where it is about the
    whole file, null where its lines are gone."""

    thread_id: str
    line: int | None


class ThreadPlaces(Answer):
    """The places of the threads of a file."""

    places: list[ThreadPlace]


class ReviewThreads(Area):
    """Review threads. Who reads the sandbox's files reads them; who writes its files writes."""

    tag = "review"
    needs = "file.write"

    @operation(
        "GET /v1/sandboxes/{sandbox}/threads",
        name="list_review_threads",
        needs="file.read",
        problems=(404,),
        max_items=MAX_THREADS,
    )
    def list(self, sandbox: SandboxRef) -> ReviewThreadList:
        """Return all threads, settled ones among them."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/changes/threads",
        name="list_thread_places",
        needs="file.read",
        problems=FAILURES,
        max_items=MAX_THREADS,
    )
    def places(
        self,
        sandbox: SandboxRef,
        *,
        path: Annotated[TreePath, Meta(description="The file, relative to the repository.")],
        old_path: FormerPath = None,
        repo: RepoNumber = 0,
        against: Compared = Against.BASE,
        checkpoint: CheckpointNumber = None,
    ) -> ThreadPlaces:
        """Return where the threads of a changed file are now. Their lines are found by what they
        say, nearest to where they were."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/threads",
        name="open_review_thread",
        status=201,
        problems=(404, 409, 413),
    )
    def open(self, sandbox: SandboxRef, body: ThreadBody) -> ReviewThreadView:
        """Open a thread with its first remark."""

    @operation(
        "PATCH /v1/sandboxes/{sandbox}/threads/{thread}",
        name="resolve_review_thread",
        problems=(404, 409, 413),
    )
    def resolve(
        self, sandbox: SandboxRef, thread: ItemId, body: ThreadChangeBody
    ) -> ReviewThreadView:
        """Settle a thread, or open it again."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/threads/{thread}/remarks",
        name="reply_to_review_thread",
        status=201,
        problems=(404, 409, 413),
    )
    def reply(self, sandbox: SandboxRef, thread: ItemId, body: RemarkBody) -> ReviewThreadView:
        """Add a remark to a thread."""

    @operation(
        "PATCH /v1/sandboxes/{sandbox}/threads/{thread}/remarks/{remark}",
        name="reword_review_remark",
        problems=(404, 409, 413),
    )
    def reword(
        self, sandbox: SandboxRef, thread: ItemId, remark: ItemId, body: RemarkBody
    ) -> ReviewThreadView:
        """Change a remark: its author may."""

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/threads/{thread}/remarks/{remark}",
        name="delete_review_remark",
        status=204,
        problems=(404, 409),
    )
    def withdraw(self, sandbox: SandboxRef, thread: ItemId, remark: ItemId) -> None:
        """Delete a remark: its author may, and who manages the sandbox. With its last remark a
        thread is gone."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/threads/send",
        name="send_review_threads",
        needs="agent.use",
        problems=(404, 409, 413, 429, 502),
    )
    def send(self, sandbox: SandboxRef, body: SendThreadsBody) -> ReviewThreadList:
        """Send threads to an agent as one prompt. Those that are settled, or that an agent has as
        they are, are left out."""
