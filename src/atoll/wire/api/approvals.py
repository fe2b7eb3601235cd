"""Approvals: requests from inside a sandbox, and a person's decisions.

A person is shown `lines`, and `digest` stands for them: a grant must return it, so that nobody
approves what they did not see.
"""

from typing import Annotated, Literal

from msgspec import Meta, field

from atoll.wire.api.fields import FIRST_PAGE, Paging, Seconds, Word
from atoll.wire.api.operation import Answer, Area, PartialAnswer, Request, operation
from atoll.wire.words.approvals import ApprovalState, GrantScope

ApprovalId = Annotated[str, Meta(min_length=1, max_length=100)]
States = Annotated[list[ApprovalState], Meta(description="Only these states; may be repeated.")]
EVERY_STATE: States = []


class ApproveBody(Request, kw_only=True):
    """A grant.

    `shown` is the `digest` of what the person saw; `words` are those of a confirmation and needed
    from a terminal. `ttl` None: as long as the scope itself.
    """

    reach: GrantScope = field(name="for", default=GrantScope.ONCE)
    ttl: Seconds | None = None
    shown: Annotated[str, Meta(min_length=64, max_length=64)]
    words: Word | None = None


class SubjectView(PartialAnswer):
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


class ApprovalView(Answer):
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
    reach: GrantScope | None = field(name="for")
    asked_at: str
    until: str | None
    decided_at: str | None
    decided_by: str | None
    reason: str | None


class ApprovalList(Answer):
    """The approvals, newest first."""

    approvals: list[ApprovalView]
    next: str | None


class ConfirmationView(Answer):
    """The words that a person at a terminal repeats, valid once until `expires_at`."""

    words: str
    digest: str
    expires_at: str


class Approvals(Area):
    """Requests of sandboxes that a person decides."""

    tag = "approvals"
    needs = "approval.decide"

    @operation("GET /v1/approvals", name="list_approvals", needs="approval.read")
    def list(self, *, state: States = EVERY_STATE, page: Paging = FIRST_PAGE) -> ApprovalList:
        """Return the approvals that the caller decides or decided."""

    @operation(
        "GET /v1/approvals/{approval}", name="get_approval", needs="approval.read", problems=(404,)
    )
    def get(self, approval: ApprovalId) -> ApprovalView:
        """Return one approval."""

    @operation(
        "POST /v1/approvals/{approval}/confirmation",
        name="confirm",
        status=201,
        problems=(404, 409),
    )
    def confirmation(self, approval: ApprovalId) -> ConfirmationView:
        """Return words for a person at a terminal: the token alone does not approve."""

    @operation(
        "POST /v1/approvals/{approval}/approve", name="approve", problems=(404, 409, 413, 502)
    )
    def approve(self, approval: ApprovalId, body: ApproveBody) -> ApprovalView:
        """Approve exactly what was shown."""

    @operation("POST /v1/approvals/{approval}/deny", name="deny", problems=(404, 409))
    def deny(self, approval: ApprovalId) -> ApprovalView:
        """Deny the request; the same is not requested again for a while."""

    @operation("POST /v1/approvals/{approval}/revoke", name="revoke", problems=(404, 409))
    def revoke(self, approval: ApprovalId) -> ApprovalView:
        """Revoke a grant, at once: streams that depend on it end."""
