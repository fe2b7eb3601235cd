"""The inbox: everything that waits for a person, and the answers.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.agents.agents import StatusOption
from atoll.client.transport import Call, Pairs, Transport, api_path, get, post

ItemKind = Literal[
    "secret",
    "command",
    "host",
    "tool",
    "agent",
    "push",
    "end",
    "setup",
    "conflict",
    "mention",
    "todo",
    "login",
]

AnswerBy = Literal["person", "protocol", "terminal"]


class BoardPlace(Shape):
    """An item on a dashboard, and the dashboard's name."""

    dashboard_id = fields.text()
    dashboard_name = fields.text()
    item_id = fields.text()


class InboxItem(Shape):
    """Something that waits for a person since `since`. `lines` say what an answer allows;
    `shown` stands for them. `by`: a person decides it (`person`), or the agent takes the answer
    by its protocol, or at its terminal only. `agent` and `agent_id` are null where it is not
    known who asks. A `mention` and a `todo` are on a dashboard: `place` says where, `author`
    whose they are, and `sandbox_id` is null. They take no answer, and are dismissed. So is a
    `login` that broke: its person logs `agent` in again."""

    id = fields.text()
    kind: Field[ItemKind] = fields.word()
    sandbox_id = fields.text()
    sandbox_name = fields.text()
    place = fields.one(BoardPlace)
    author = fields.text()
    agent = fields.text()
    agent_id = fields.text()
    since = fields.text()
    lines = fields.texts()
    options = fields.many(StatusOption)
    words = fields.flag()
    by: Field[AnswerBy] = fields.word()
    shown = fields.text()
    times = fields.number()


class InboxList(Shape):
    """The inbox, the longest waiting item first."""

    items = fields.many(InboxItem)
    next = fields.text()


class InboxAnswerBody(TypedDict, total=False):
    """An answer: the id of an option, or `text`, an answer in words. `shown` is that of the item
    that the person saw; `words` are those of a confirmation, which an approval needs from a
    terminal."""

    option: str | None
    text: str | None
    shown: Required[str]
    words: str | None


class Inbox:
    """Everything that waits for a person. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, query: Pairs = ()) -> InboxList:
        """Return what waits for the caller: approvals, questions of agents, held pushes, ends,
        failed set-ups, conflicts, mentions, todos, and logins that broke."""
        return self._transport.read_all(InboxList, get("inbox", query=query))

    def answer(self, item_id: str, body: InboxAnswerBody) -> None:
        """Answer an item exactly as it was shown."""
        self._transport.call(post("inbox", item_id, "answer", value=body))

    def dismiss(self, item_id: str) -> None:
        """Dismiss a mention, a todo or a login that broke. What takes an answer is not found
        here."""
        self._transport.call(Call("DELETE", api_path("inbox", item_id)))
