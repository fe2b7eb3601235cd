"""Routes of ownership: to whom a sandbox belongs, and which wait for a new owner."""

from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.surfaces.http.sandboxes.view import sandbox_view
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.dashboards.dashboards import OwnerBody
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.people import ownership as api
from atoll.wire.api.people.ownership import Ownership
from atoll.wire.api.sandboxes.views import SandboxView

operations = Operations()


@operations.serves(Ownership.give)
async def give_sandbox(context: RequestContext, sandbox: str, body: OwnerBody) -> SandboxView:
    ownership = context.atoll.tenancy.ownership
    given = await ownership.give(context.caller, sandbox, body.member)
    return await sandbox_view(context.atoll, given)


@operations.serves(Ownership.waiting)
async def list_waiting_sandboxes(
    context: RequestContext, organization: str, *, page: Paging = FIRST_PAGE
) -> api.WaitingSandboxList:
    asked = context.page(page)
    ownership = context.atoll.tenancy.ownership
    found = await ownership.waiting(context.caller, organization, asked.rows())
    sandboxes, following = asked.rows_and_next(found, _waiting_sandbox_view)
    return api.WaitingSandboxList(sandboxes=sandboxes, next=following)


def _waiting_sandbox_view(sandbox: Sandbox) -> api.WaitingSandboxView:
    return answer_of(api.WaitingSandboxView, sandbox, sandbox_id=sandbox.id)
