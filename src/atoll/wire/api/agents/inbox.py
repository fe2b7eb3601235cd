"""The inbox: everything that waits for a person, and the answers."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.agents.agents import StatusOptionView
from atoll.wire.api.fields import FIRST_PAGE, Paging, Word
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.agents import MAX_PROMPT, AnswerBy, ItemKind

InboxId = Annotated[str, Meta(min_length=1, max_length=100)]


class InboxAnswerBody(Request, kw_only=True):
    """An answer: the id of an option, or `text`, an answer in words.

    `shown` is that of the item that the person saw; `words` are those of a confirmation, which an
    approval needs from a terminal.
    """

    option: Word | None = None
    text: Annotated[str, Meta(min_length=1, max_length=MAX_PROMPT)] | None = None
    shown: Annotated[str, Meta(min_length=64, max_length=64)]
    words: Word | None = None


class BoardPlaceView(Answer):
    """An item on a dashboard, and the dashboard's name."""

    dashboard_id: str
    dashboard_name: str
    item_id: str


class InboxItemView(Answer):
    """Something that waits for a person since `since`.

    `lines` say what an answer allows; `shown` stands for them. `by`: a person decides it
    (`person`), or the agent takes the answer by its protocol, or at its terminal only. `agent` and
    `agent_id` are null where it is not known who asks. A `mention` and a `todo` are on a dashboard:
    `place` says where, `author` whose they are, and `sandbox_id` is null. They take no answer, and
    are dismissed. So is a `login` that broke: its person logs `agent` in again.
    """

    id: str
    kind: ItemKind
    sandbox_id: str | None
    sandbox_name: str | None
    place: BoardPlaceView | None
    author: str | None
    agent: str | None
    agent_id: str | None
    since: str
    lines: list[str]
    options: list[StatusOptionView]
    words: bool
    by: AnswerBy
    shown: str
    times: int


class InboxView(Answer):
    """The inbox, the longest waiting item first."""

    items: list[InboxItemView]
    next: str | None


class Inbox(Area):
    """Everything that waits for a person."""

    tag = "inbox"
    needs = "approval.read"

    @operation("GET /v1/inbox", name="list_inbox")
    def list(self, *, page: Paging = FIRST_PAGE) -> InboxView:
        """Return what waits for the caller: approvals, questions of agents, held pushes, ends,
        failed set-ups, conflicts, mentions, todos, and logins that broke."""

    @operation(
        "POST /v1/inbox/{item}/answer",
        name="answer_item",
        status=204,
        needs="approval.decide",
        problems=(404, 409, 413, 502),
    )
    def answer(self, item: InboxId, body: InboxAnswerBody) -> None:
        """Answer an item exactly as it was shown."""

    @operation(
        "DELETE /v1/inbox/{item}",
        name="dismiss_item",
        status=204,
        needs="dashboard.read",
        problems=(404,),
    )
    def dismiss(self, item: InboxId) -> None:
        """Dismiss a mention, a todo or a login that broke. What takes an answer is not found
        here."""
