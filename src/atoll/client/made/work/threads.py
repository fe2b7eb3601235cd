"""Review threads: what people say about lines of a sandbox's change.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Pairs, Transport, api_path, get, patch, post, query_of

Side = Literal["old", "new"]

Against = Literal["base", "turn", "uncommitted"]


class Remark(Shape):
    """A remark. `author` is an id; `author_name` is how they were called then, null where they
    had no name. `edited_at` is when they last changed it."""

    remark_id = fields.text()
    author = fields.text()
    author_name = fields.text()
    text = fields.text()
    at = fields.text()
    edited_at = fields.text()


class Resolution(Shape):
    """The settling of a thread."""

    by = fields.text()
    by_name = fields.text()
    at = fields.text()


class ThreadSending(Shape):
    """The last sending of a thread, to the agent of this id."""

    by = fields.text()
    by_name = fields.text()
    agent_id = fields.text()
    agent = fields.text()
    at = fields.text()


class ReviewThread(Shape):
    """A thread; its place is the one where it was opened. `unsent`: it is open, and says
    something that no agent has received."""

    thread_id = fields.text()
    repo = fields.number()
    path = fields.text()
    side: Field[Side] = fields.word()
    line = fields.number()
    lines = fields.texts()
    opened_at = fields.text()
    remarks = fields.many(Remark)
    resolved = fields.one(Resolution)
    sent = fields.one(ThreadSending)
    unsent = fields.flag()


class ReviewThreadList(Shape):
    """The threads of a sandbox, oldest first."""

    threads = fields.many(ReviewThread)


class ThreadPlace(Shape):
    """The place of a thread now: the number of its first line on its side, 0 where it is about
    the whole file, null where its lines are gone."""

    thread_id = fields.text()
    line = fields.number()


class ThreadPlaces(Shape):
    """The places of the threads of a file."""

    places = fields.many(ThreadPlace)


class RemarkBody(TypedDict, total=False):
    """A remark, as text."""

    text: Required[str]


class ThreadBody(TypedDict, total=False):
    """A thread to open with its first remark. It is about the `lines` from number `line` on, on
    one side of the diff of a file; without lines (and `line` 0) about the whole file, and
    without `path` about the whole change."""

    text: Required[str]
    repo: int
    path: str
    side: Side
    line: int
    lines: list[str]


class ThreadChangeBody(TypedDict, total=False):
    """A change of a thread."""

    resolved: Required[bool]


class SendThreadsBody(TypedDict, total=False):
    """The threads to send to an agent, each by its id."""

    agent_id: Required[str]
    threads: Required[list[str]]


class ReviewThreads:
    """Review threads. Who reads the sandbox's files reads them; who writes its files writes.
    Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str) -> ReviewThreadList:
        """Return all threads, settled ones among them."""
        return self._transport.read(ReviewThreadList, get("sandboxes", name, "threads"))

    def places(
        self,
        name: str,
        *,
        path: str,
        old_path: str | None = None,
        repo: int | None = None,
        against: Against | None = None,
        checkpoint: int | None = None,
        query: Pairs = (),
    ) -> ThreadPlaces:
        """Return where the threads of a changed file are now. Their lines are found by what they
        say, nearest to where they were."""
        return self._transport.read(
            ThreadPlaces,
            get(
                "sandboxes",
                name,
                "changes",
                "threads",
                query=query_of(
                    path=path, old_path=old_path, repo=repo, against=against, checkpoint=checkpoint
                )
                + query,
            ),
        )

    def open(self, name: str, body: ThreadBody) -> ReviewThread:
        """Open a thread with its first remark."""
        return self._transport.read(ReviewThread, post("sandboxes", name, "threads", value=body))

    def resolve(self, name: str, thread_id: str, body: ThreadChangeBody) -> ReviewThread:
        """Settle a thread, or open it again."""
        return self._transport.read(
            ReviewThread, patch("sandboxes", name, "threads", thread_id, value=body)
        )

    def reply(self, name: str, thread_id: str, body: RemarkBody) -> ReviewThread:
        """Add a remark to a thread."""
        return self._transport.read(
            ReviewThread, post("sandboxes", name, "threads", thread_id, "remarks", value=body)
        )

    def reword(self, name: str, thread_id: str, remark_id: str, body: RemarkBody) -> ReviewThread:
        """Change a remark: its author may."""
        return self._transport.read(
            ReviewThread,
            patch("sandboxes", name, "threads", thread_id, "remarks", remark_id, value=body),
        )

    def withdraw(self, name: str, thread_id: str, remark_id: str) -> None:
        """Delete a remark: its author may, and who manages the sandbox. With its last remark a
        thread is gone."""
        self._transport.call(
            Call("DELETE", api_path("sandboxes", name, "threads", thread_id, "remarks", remark_id))
        )

    def send(self, name: str, body: SendThreadsBody) -> ReviewThreadList:
        """Send threads to an agent as one prompt. Those that are settled, or that an agent has
        as they are, are left out."""
        return self._transport.read(
            ReviewThreadList, post("sandboxes", name, "threads", "send", value=body)
        )
