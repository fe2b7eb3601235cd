"""Routes of the inbox: everything that waits for a person, and the answers."""

from atoll.domain.inbox.item import InboxItem
from atoll.services.inbox.inbox import InboxAnswer
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.agents import inbox as api
from atoll.wire.api.agents.inbox import Inbox
from atoll.wire.api.fields import FIRST_PAGE, Paging

operations = Operations()


@operations.serves(Inbox.list)
async def list_inbox(context: RequestContext, *, page: Paging = FIRST_PAGE) -> api.InboxView:
    found = await context.atoll.inbox.list(context.caller)
    items, following = context.page(page).items_and_next(found, key=lambda one: one.id, view=_view)
    return api.InboxView(items=items, next=following)


@operations.serves(Inbox.answer)
async def answer_item(context: RequestContext, item: str, body: api.InboxAnswerBody) -> None:
    await context.atoll.inbox.answer(
        context.caller, item, InboxAnswer(body.shown, body.option, body.text, body.words)
    )


@operations.serves(Inbox.dismiss)
async def dismiss_item(context: RequestContext, item: str) -> None:
    await context.atoll.inbox.dismiss(context.caller, item)


def _view(item: InboxItem) -> api.InboxItemView:
    return answer_of(api.InboxItemView, item)
