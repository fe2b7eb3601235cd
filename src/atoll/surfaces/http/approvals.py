"""Routes of approvals: requests from inside a sandbox, and a person's decisions.

All texts are spelled out: no control, bidi or escape character of the inside gets here.
"""

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import asdict

from atoll.domain.approvals.approval import (
    Approval,
    ApprovalGrant,
    Ask,
    CommandAsk,
    ToolAsk,
    digest,
    shown_lines,
    spelled_out,
)
from atoll.services.approvals.voiding import approval_words
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import approvals as api
from atoll.wire.api.approvals import Approvals
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.words.approvals import ApprovalState

operations = Operations()


@operations.serves(Approvals.list)
async def list_approvals(
    context: RequestContext, *, state: Sequence[ApprovalState] = (), page: Paging = FIRST_PAGE
) -> api.ApprovalList:
    asked = context.page(page)
    rows = await context.atoll.approvals.list(context.caller, asked.rows(), verdicts=tuple(state))
    approvals, following = asked.rows_and_next(rows, _view)
    return api.ApprovalList(approvals=approvals, next=following)


@operations.serves(Approvals.get)
async def get_approval(context: RequestContext, approval: str) -> api.ApprovalView:
    return _view(await context.atoll.approvals.get(context.caller, approval))


@operations.serves(Approvals.confirmation)
async def confirm(context: RequestContext, approval: str) -> api.ConfirmationView:
    made = await context.atoll.approvals.confirmation(context.caller, approval)
    return answer_of(api.ConfirmationView, made, digest=made.shown)


@operations.serves(Approvals.approve)
async def approve(
    context: RequestContext, approval: str, body: api.ApproveBody
) -> api.ApprovalView:
    ttl = None if body.ttl is None else timedelta(seconds=body.ttl)
    grant = ApprovalGrant(body.reach, ttl, body.shown)
    approvals = context.atoll.approvals
    return _view(await approvals.approve(context.caller, approval, grant, words=body.words))


@operations.serves(Approvals.deny)
async def deny(context: RequestContext, approval: str) -> api.ApprovalView:
    return _view(await context.atoll.approvals.deny(context.caller, approval))


@operations.serves(Approvals.revoke)
async def revoke(context: RequestContext, approval: str) -> api.ApprovalView:
    return _view(await context.atoll.approvals.revoke(context.caller, approval))


def _view(approval: Approval) -> api.ApprovalView:
    requester = approval.requester
    return answer_of(
        api.ApprovalView,
        approval,
        approval_id=approval.id,
        kind=approval_words(approval)["kind"],
        state=approval.verdict,
        sandbox_id=requester.sandbox_id,
        sandbox_name=requester.sandbox_name,
        subject=_subject(approval.ask),
        lines=shown_lines(approval),
        digest=digest(approval),
    )


def _subject(ask: Ask) -> api.SubjectView:
    if isinstance(ask, ToolAsk):
        return api.SubjectView(tool=ask.tool, arguments=spelled_out(ask.arguments))
    if isinstance(ask, CommandAsk):
        argv = [spelled_out(word) for word in ask.argv]
        return api.SubjectView(argv=argv, cwd=spelled_out(ask.cwd))
    return api.SubjectView(**asdict(ask))
