"""Hooks: addresses at which other systems report what happened there."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.http.media_types import JSON
from atoll.wire.words.hooks import MAX_HOOKS, HookSource


class HookBody(Request):
    """A hook for the reports of one system."""

    source: HookSource
    name: Annotated[str, Meta(min_length=1, max_length=100)]


class HookView(Answer):
    """A hook. `address` is the path at which its reports arrive."""

    hook_id: str
    source: HookSource
    name: str
    address: str
    created_at: str


class MadeHookView(HookView):
    """A hook with its new secret, which no other answer has."""

    secret: str


class HookList(Answer):
    """The caller's hooks."""

    hooks: list[HookView]


class TakenView(Answer):
    """The outcome of a report: the kind of its event, null where it tells of none; `repeated` where
    it was taken before."""

    event_type: str | None
    repeated: bool


class Hooks(Area):
    """Addresses for the reports of other systems."""

    tag = "hooks"
    needs = "webhook.manage"

    @operation("POST /v1/hooks", name="create_hook", status=201)
    def create(self, body: HookBody) -> MadeHookView:
        """Make a hook; only this answer has its secret."""

    @operation("GET /v1/hooks", name="list_hooks", max_items=MAX_HOOKS)
    def list(self) -> HookList:
        """Return the caller's hooks, without their secrets."""

    @operation("DELETE /v1/hooks/{hook}", name="remove_hook", status=204, problems=(404,))
    def remove(self, hook: ItemId) -> None:
        """Remove a hook: its reports are refused from now on."""

    @operation("POST /v1/hooks/{hook}/test", name="test_hook", problems=(404,))
    def test(self, hook: ItemId) -> HookView:
        """Append the event `hook.tested`, so that whoever watches the hook's events learns of
        it."""

    @operation(
        "POST /v1/ingest/{source}/{hook}",
        name="take_report",
        status=202,
        public=True,
        problems=(413,),
        reads=(JSON,),
    )
    def take(
        self,
        source: Annotated[str, Meta(max_length=20)],
        hook: Annotated[str, Meta(max_length=64)],
    ) -> TakenView:
        """Take a report of another system. Its signature is the credential."""
