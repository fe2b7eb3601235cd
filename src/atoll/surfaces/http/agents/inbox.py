"""Routes of the inbox: everything that waits for a person, and the answers."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import Response

from atoll.domain.inbox.item import AnswerBy, InboxItem, ItemKind
from atoll.domain.people.capability import Capability
from atoll.services.inbox.inbox import InboxAnswer
from atoll.surfaces.http.agents.bodies import Prompt
from atoll.surfaces.http.agents.status_view import StatusOptionView
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ResponseModel, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/inbox", tags=["inbox"], route_class=JsonRoute)

InboxId = Annotated[str, Path(min_length=1, max_length=100)]


class InboxAnswerBody(Body):
    """An answer: the id of an option, or `text`, an answer in words.

    `shown` is that of the item that the person saw; `words` are those of a confirmation, which an
    approval needs from a terminal.
    """

    option: Word | None = None
    text: Prompt | None = None
    shown: Annotated[str, Field(min_length=64, max_length=64, strict=True)]
    words: Word | None = None


class BoardPlaceView(ResponseModel):
    """An item on a dashboard, and the dashboard's name."""

    dashboard_id: str
    dashboard_name: str
    item_id: str


class InboxItemView(ResponseModel):
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


class InboxView(PageModel):
    """The inbox, the longest waiting item first."""

    items: list[InboxItemView]


@router.get("", response_model=InboxView, responses=problems())
@needs(Capability.APPROVAL_READ)
async def list_inbox(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return what waits for the caller: approvals, questions of agents, held pushes, ends, failed
    set-ups, mentions, todos, and logins that broke."""
    found = await atoll.inbox.list(caller)
    return Json(page.of(found, name="items", key=lambda one: one.id, view=_view))


@router.post("/{item}/answer", status_code=204, responses=problems(404, 409, 413, 502))
@needs(Capability.APPROVAL_DECIDE)
async def answer_item(
    atoll: Atoll, caller: Caller, *, item: InboxId, body: InboxAnswerBody
) -> Response:
    """Answer an item exactly as it was shown."""
    await atoll.inbox.answer(
        caller, item, InboxAnswer(body.shown, body.option, body.text, body.words)
    )
    return no_content()


@router.delete("/{item}", status_code=204, responses=problems(404))
@needs(Capability.DASHBOARD_READ)
async def dismiss_item(atoll: Atoll, caller: Caller, *, item: InboxId) -> Response:
    """Dismiss a mention, a todo or a login that broke. What takes an answer is not found here."""
    await atoll.inbox.dismiss(caller, item)
    return no_content()


def _view(item: InboxItem) -> dict[str, Any]:
    return InboxItemView.of(item)
