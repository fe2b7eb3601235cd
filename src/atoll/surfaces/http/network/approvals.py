"""Routes of approvals: requests from inside a sandbox, and a person's decisions.

A person is shown `lines`, and `digest` stands for them: a grant must return it, so that nobody
approves what they did not see. All texts are spelled out: no control, bidi or escape character of
the inside gets here.
"""

from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from msgspec.structs import asdict
from pydantic import Field
from starlette.responses import Response

from atoll.domain.approvals.approval import (
    Approval,
    ApprovalGrant,
    ApprovalState,
    Ask,
    CommandAsk,
    GrantScope,
    ToolAsk,
    digest,
    shown_lines,
    spelled_out,
)
from atoll.domain.people.capability import Capability
from atoll.services.approvals.voiding import approval_words
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, Partial, ResponseModel, Seconds, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/approvals", tags=["approvals"], route_class=JsonRoute)

ApprovalId = Annotated[str, Path(min_length=1, max_length=100)]
States = Annotated[list[ApprovalState], Query(description="Only these states; may be repeated.")]


class ApproveBody(Body):
    """A grant.

    `shown` is the `digest` of what the person saw; `words` are those of a confirmation and needed
    from a terminal. `ttl` None: as long as the scope itself.
    """

    reach: Annotated[GrantScope, Field(alias="for")] = GrantScope.ONCE
    ttl: Seconds | None = None
    shown: Annotated[str, Field(min_length=64, max_length=64, strict=True)]
    words: Word | None = None


class SubjectView(Partial):
    """The subject of a request: a secret to a host, a host alone, a command, or a tool with its
    arguments as JSON."""

    secret: str | None = None
    secret_id: str | None = None
    version: int | None = None
    host: str | None = None
    port: int | None = None
    argv: list[str] | None = None
    cwd: str | None = None
    tool: str | None = None
    arguments: str | None = None


class ApprovalView(ResponseModel):
    """A request and its decision. `until`: when a pending one expires, a grant ends, or a denied
    one may be requested again."""

    approval_id: str
    kind: Literal["secret", "command", "host", "tool"]
    state: ApprovalState
    sandbox_id: str
    sandbox_name: str
    subject: SubjectView
    lines: list[str]
    digest: str
    times: int
    reach: Annotated[GrantScope | None, Field(alias="for")]
    asked_at: str
    until: str | None
    decided_at: str | None
    decided_by: str | None
    reason: str | None


class ApprovalList(PageModel):
    """The approvals, newest first."""

    approvals: list[ApprovalView]


class ConfirmationView(ResponseModel):
    """The words that a person at a terminal repeats, valid once until `expires_at`."""

    words: str
    digest: str
    expires_at: str


@router.get("", response_model=ApprovalList, responses=problems())
@needs(Capability.APPROVAL_READ)
async def list_approvals(
    atoll: Atoll,
    caller: Caller,
    *,
    state: States = [],  # noqa: B006 - read only
    page: Paged,
) -> Response:
    """Return the approvals that the caller decides or decided."""
    found = await atoll.approvals.list(caller, page.rows(), verdicts=tuple(state))
    return Json(page.of_rows(found, name="approvals", view=_view))


@router.get("/{approval}", response_model=ApprovalView, responses=problems(404))
@needs(Capability.APPROVAL_READ)
async def get_approval(atoll: Atoll, caller: Caller, approval: ApprovalId) -> Response:
    """Return one approval."""
    return Json(_view(await atoll.approvals.get(caller, approval)))


@router.post(
    "/{approval}/confirmation",
    status_code=201,
    response_model=ConfirmationView,
    responses=problems(404, 409),
)
@needs(Capability.APPROVAL_DECIDE)
async def confirm(atoll: Atoll, caller: Caller, approval: ApprovalId) -> Response:
    """Return words for a person at a terminal: the token alone does not approve."""
    made = await atoll.approvals.confirmation(caller, approval)
    return Json(ConfirmationView.of(made, digest=made.shown), 201)


@router.post(
    "/{approval}/approve", response_model=ApprovalView, responses=problems(404, 409, 413, 502)
)
@needs(Capability.APPROVAL_DECIDE)
async def approve(
    atoll: Atoll, caller: Caller, *, approval: ApprovalId, body: ApproveBody
) -> Response:
    """Approve exactly what was shown."""
    ttl = None if body.ttl is None else timedelta(seconds=int(body.ttl))
    yes = ApprovalGrant(body.reach, ttl, body.shown)
    return Json(_view(await atoll.approvals.approve(caller, approval, yes, words=body.words)))


@router.post("/{approval}/deny", response_model=ApprovalView, responses=problems(404, 409))
@needs(Capability.APPROVAL_DECIDE)
async def deny(atoll: Atoll, caller: Caller, approval: ApprovalId) -> Response:
    """Deny the request; the same is not requested again for a while."""
    return Json(_view(await atoll.approvals.deny(caller, approval)))


@router.post("/{approval}/revoke", response_model=ApprovalView, responses=problems(404, 409))
@needs(Capability.APPROVAL_DECIDE)
async def revoke(atoll: Atoll, caller: Caller, approval: ApprovalId) -> Response:
    """Revoke a grant, at once: streams that depend on it end."""
    return Json(_view(await atoll.approvals.revoke(caller, approval)))


def _view(approval: Approval) -> dict[str, Any]:
    requester = approval.requester
    return ApprovalView.of(
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


def _subject(ask: Ask) -> dict[str, Any]:
    if isinstance(ask, ToolAsk):
        return {"tool": ask.tool, "arguments": spelled_out(ask.arguments)}
    if not isinstance(ask, CommandAsk):
        return asdict(ask)
    return {"argv": [spelled_out(word) for word in ask.argv], "cwd": spelled_out(ask.cwd)}
