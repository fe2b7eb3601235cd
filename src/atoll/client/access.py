"""Secrets, the vault they are sealed by, and approvals, over the API."""

from atoll.client.bodies import ApproveBody, InboxAnswerBody, SecretBody
from atoll.client.shapes import (
    Approval,
    ApprovalList,
    Confirmation,
    Rotated,
    Secret,
    SecretList,
)
from atoll.client.status_shapes import InboxList
from atoll.client.transport import Call, Pairs, Transport, at, get, post, put


class Approvals:
    """Requests of sandboxes that a person decides."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, query: Pairs = ()) -> ApprovalList:
        """Return the requests that match `query`."""
        return self._transport.read(ApprovalList, get("approvals", query=query))

    def get(self, approval_id: str) -> Approval:
        """Return one request."""
        return self._transport.read(Approval, get("approvals", approval_id))

    def confirmation(self, approval_id: str) -> Confirmation:
        """Return the words a person has to repeat to approve the request."""
        return self._transport.read(Confirmation, post("approvals", approval_id, "confirmation"))

    def approve(self, approval_id: str, body: ApproveBody) -> Approval:
        """Approve a request as it was shown."""
        return self._transport.read(Approval, post("approvals", approval_id, "approve", value=body))

    def deny(self, approval_id: str) -> Approval:
        """Deny a request."""
        return self._transport.read(Approval, post("approvals", approval_id, "deny"))

    def revoke(self, approval_id: str) -> Approval:
        """Revoke an approval."""
        return self._transport.read(Approval, post("approvals", approval_id, "revoke"))


class Inbox:
    """Everything that waits for a person."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> InboxList:
        """Return what waits, the longest waiting first."""
        return self._transport.read(InboxList, get("inbox"))

    def answer(self, item_id: str, body: InboxAnswerBody) -> None:
        """Answer an item as it was shown."""
        self._transport.call(post("inbox", item_id, "answer", value=body))


class Secrets:
    """The secrets of an installation. Values go in and never come out."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> SecretList:
        """Return the secrets, without their values."""
        return self._transport.read(SecretList, get("secrets"))

    def set(self, name: str, body: SecretBody) -> Secret:
        """Set a secret, new or not."""
        return self._transport.read(Secret, put("secrets", name, value=body))

    def rotate(self, name: str, value: str, *, scope: str | None) -> Secret:
        """Give a secret a new value; `scope` selects one where several secrets have the name."""
        call = post("secrets", name, "rotate", value={"value": value}, query=_scope(scope))
        return self._transport.read(Secret, call)

    def delete(self, name: str, *, scope: str | None) -> None:
        """Remove a secret, from every running sandbox at once."""
        self._transport.call(Call("DELETE", at("secrets", name), _scope(scope)))

    def rotate_master(self) -> Rotated:
        """Seal every secret under a new master key."""
        return self._transport.read(Rotated, post("vault", "rotate-master"))


def _scope(scope: str | None) -> Pairs:
    return (("scope", scope),) if scope else ()
