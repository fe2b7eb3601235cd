"""Secrets, the vault they are sealed by, and approvals, over the API."""

from collections.abc import Mapping

from atoll.client.answer import Json
from atoll.client.shapes import (
    Approval,
    ApprovalList,
    Confirmation,
    Rotated,
    Secret,
    SecretList,
)
from atoll.client.transport import Call, Pairs, Transport, at, get, post, put


class Approvals:
    """Requests of sandboxes that a person decides."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, query: Pairs = ()) -> ApprovalList:
        """Return the requests that match `query`."""
        return ApprovalList(self._transport.call(get("approvals", query=query)).value)

    def get(self, approval_id: str) -> Approval:
        """Return one request."""
        return Approval(self._transport.call(get("approvals", approval_id)).value)

    def confirmation(self, approval_id: str) -> Confirmation:
        """Return the words a person has to repeat to approve the request."""
        return Confirmation(
            self._transport.call(post("approvals", approval_id, "confirmation")).value
        )

    def approve(self, approval_id: str, wish: Mapping[str, Json]) -> Approval:
        """Approve a request as it was shown."""
        return Approval(
            self._transport.call(post("approvals", approval_id, "approve", value=wish)).value
        )

    def deny(self, approval_id: str) -> Approval:
        """Deny a request."""
        return Approval(self._transport.call(post("approvals", approval_id, "deny")).value)

    def revoke(self, approval_id: str) -> Approval:
        """Revoke an approval."""
        return Approval(self._transport.call(post("approvals", approval_id, "revoke")).value)


class Secrets:
    """The secrets of an installation. Values go in and never come out."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> SecretList:
        """Return the secrets, without their values."""
        return SecretList(self._transport.call(get("secrets")).value)

    def set(self, name: str, wish: Mapping[str, Json]) -> Secret:
        """Set a secret, new or not."""
        return Secret(self._transport.call(put("secrets", name, value=wish)).value)

    def rotate(self, name: str, value: str, *, scope: str | None) -> Secret:
        """Give a secret a new value; `scope` says which, where several have the name."""
        call = post("secrets", name, "rotate", value={"value": value}, query=_scope(scope))
        return Secret(self._transport.call(call).value)

    def delete(self, name: str, *, scope: str | None) -> None:
        """Remove a secret, from every running sandbox at once."""
        self._transport.call(Call("DELETE", at("secrets", name), _scope(scope)))

    def rotate_master(self) -> Rotated:
        """Seal every secret under a new master key."""
        return Rotated(self._transport.call(post("vault", "rotate-master")).value)


def _scope(scope: str | None) -> Pairs:
    return (("scope", scope),) if scope else ()
