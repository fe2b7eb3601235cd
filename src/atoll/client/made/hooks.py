"""Hooks: addresses at which other systems report what happened there.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Transport, api_path, get, post

HookSource = Literal["gitea", "github", "flux"]


class Hook(Shape):
    """A hook. `address` is the path at which its reports arrive."""

    hook_id = fields.text()
    source: Field[HookSource] = fields.word()
    name = fields.text()
    address = fields.text()
    created_at = fields.text()


class MadeHook(Hook):
    """A hook with its new secret, which no other answer has."""

    secret = fields.text()


class HookList(Shape):
    """The caller's hooks."""

    hooks = fields.many(Hook)


class Taken(Shape):
    """The outcome of a report: the kind of its event, null where it tells of none; `repeated`
    where it was taken before."""

    event_type = fields.text()
    repeated = fields.flag()


class HookBody(TypedDict, total=False):
    """A hook for the reports of one system."""

    source: Required[HookSource]
    name: Required[str]


class Hooks:
    """Addresses for the reports of other systems. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, body: HookBody) -> MadeHook:
        """Make a hook; only this answer has its secret."""
        return self._transport.read(MadeHook, post("hooks", value=body))

    def list(self) -> HookList:
        """Return the caller's hooks, without their secrets."""
        return self._transport.read(HookList, get("hooks"))

    def remove(self, hook_id: str) -> None:
        """Remove a hook: its reports are refused from now on."""
        self._transport.call(Call("DELETE", api_path("hooks", hook_id)))

    def test(self, hook_id: str) -> Hook:
        """Append the event `hook.tested`, so that whoever watches the hook's events learns of
        it."""
        return self._transport.read(Hook, post("hooks", hook_id, "test"))
