"""Approvals: requests from inside a sandbox, and a person's decisions.

Made from the declarations of the API by `scripts/client`.
"""

from collections.abc import Sequence
from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Pairs, Transport, get, post, query_of

ApprovalState = Literal["pending", "granted", "used", "denied", "revoked", "expired"]

GrantScope = Literal["once", "sandbox", "organization"]


class Subject(Shape):
    """The subject of a request: a secret to a host, a host alone, a command, or a tool with its
    arguments as JSON."""

    secret = fields.text()
    secret_id = fields.text()
    version = fields.number()
    host = fields.text()
    port = fields.number()
    argv = fields.texts()
    cwd = fields.text()
    tool = fields.text()
    arguments = fields.text()


class Approval(Shape):
    """A request and its decision. `until`: when a pending one expires, a grant ends, or a denied
    one may be requested again."""

    approval_id = fields.text()
    kind: Field[Literal["secret", "command", "host", "tool"]] = fields.word()
    state: Field[ApprovalState] = fields.word()
    sandbox_id = fields.text()
    sandbox_name = fields.text()
    subject = fields.one(Subject)
    lines = fields.texts()
    digest = fields.text()
    times = fields.number()
    asked_at = fields.text()
    until = fields.text()
    decided_at = fields.text()
    decided_by = fields.text()
    reason = fields.text()


class ApprovalList(Shape):
    """The approvals, newest first."""

    approvals = fields.many(Approval)
    next = fields.text()


class Confirmation(Shape):
    """The words that a person at a terminal repeats, valid once until `expires_at`."""

    words = fields.text()
    digest = fields.text()
    expires_at = fields.text()


ApproveBody = TypedDict(
    "ApproveBody",
    {"for": GrantScope, "ttl": int | str | None, "shown": Required[str], "words": str | None},
    total=False,
)
"""A grant. `shown` is the `digest` of what the person saw; `words` are those of a confirmation
and needed from a terminal. `ttl` None: as long as the scope itself."""


class Approvals:
    """Requests of sandboxes that a person decides. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, state: Sequence[ApprovalState] = (), query: Pairs = ()) -> ApprovalList:
        """Return the approvals that the caller decides or decided."""
        return self._transport.read_all(
            ApprovalList, get("approvals", query=query_of(state=state) + query)
        )

    def get(self, approval_id: str) -> Approval:
        """Return one approval."""
        return self._transport.read(Approval, get("approvals", approval_id))

    def confirmation(self, approval_id: str) -> Confirmation:
        """Return words for a person at a terminal: the token alone does not approve."""
        return self._transport.read(Confirmation, post("approvals", approval_id, "confirmation"))

    def approve(self, approval_id: str, body: ApproveBody) -> Approval:
        """Approve exactly what was shown."""
        return self._transport.read(Approval, post("approvals", approval_id, "approve", value=body))

    def deny(self, approval_id: str) -> Approval:
        """Deny the request; the same is not requested again for a while."""
        return self._transport.read(Approval, post("approvals", approval_id, "deny"))

    def revoke(self, approval_id: str) -> Approval:
        """Revoke a grant, at once: streams that depend on it end."""
        return self._transport.read(Approval, post("approvals", approval_id, "revoke"))
