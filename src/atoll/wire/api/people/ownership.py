"""Ownership: to whom a sandbox belongs, and which wait for a new owner."""

from atoll.wire.api.dashboards.dashboards import OwnerBody
from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging, SandboxRef
from atoll.wire.api.operation import Answer, Area, operation
from atoll.wire.api.sandboxes.views import SandboxView
from atoll.wire.words.sandboxes import State


class WaitingSandboxView(Answer):
    """A sandbox whose owner is gone. `GET /v1/sandboxes/{sandbox}` shows it whole."""

    sandbox_id: str
    name: str
    state: State
    owner: str
    expires_at: str
    retained_until: str | None


class WaitingSandboxList(Answer):
    """The sandboxes that wait for a new owner."""

    sandboxes: list[WaitingSandboxView]
    next: str | None


class Ownership(Area):
    """The owners of sandboxes."""

    tag = "organizations"
    needs = "org.manage"

    @operation(
        "POST /v1/sandboxes/{sandbox}/owner",
        name="give_sandbox",
        needs="sandbox.manage",
        problems=(404, 409, 413),
    )
    def give(self, sandbox: SandboxRef, body: OwnerBody) -> SandboxView:
        """Give the sandbox to another member, with its history. One that runs is stopped first.
        Links to it end, and secrets of its scope are removed; its files go along as they are."""

    @operation(
        "GET /v1/organizations/{organization}/waiting-sandboxes",
        name="list_waiting_sandboxes",
        problems=(404, 409),
    )
    def waiting(self, organization: ItemId, *, page: Paging = FIRST_PAGE) -> WaitingSandboxList:
        """Return the sandboxes whose owner is gone. An administrator gives them to somebody, or
        destroys them."""
