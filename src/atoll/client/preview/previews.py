"""Previews and ports of sandboxes over the API.

Made by the command that uses it, as `Previews(client.transport)`.
"""

from collections.abc import Iterator
from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Transport, at, get, post

PreviewStateWord = Literal["building", "ready", "failed", "gone"]


class PreviewBody(TypedDict, total=False):
    """A preview to make."""

    app: Required[str]
    port: Required[int]
    pr_number: int | None
    sha: str | None


class LinkBody(TypedDict, total=False):
    """A link to make."""

    path: str
    ttl: int | str


class Preview(Shape):
    """A preview of an app in a sandbox."""

    preview_id = fields.text()
    app = fields.text()
    port = fields.number()
    pr_number = fields.number()
    sha = fields.text()
    state: Field[PreviewStateWord] = fields.word()
    reason = fields.text()
    url = fields.text()


class PreviewPage(Shape):
    """A page of previews."""

    previews = fields.many(Preview)
    next = fields.text()


class PreviewLog(Shape):
    """The output of a preview's set-up."""

    text = fields.text()


class Link(Shape):
    """A link just made, which is good for one use."""

    url = fields.text()
    expires_at = fields.text()
    local_only = fields.flag()


class Port(Shape):
    """A port on which something listens."""

    port = fields.number()
    chosen = fields.flag()


class PortListView(Shape):
    """The ports on which something listens."""

    ports = fields.many(Port)


class Previews:
    """The previews of sandboxes; `name` is a sandbox's name or its id. Every method raises the
    classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, name: str) -> Iterator[Preview]:
        """Yield the previews, newest first, those that are gone included."""
        page = self._transport.read(PreviewPage, get("sandboxes", name, "previews"))
        yield from page.previews
        while page.next:
            following = get("sandboxes", name, "previews", query=(("cursor", page.next),))
            page = self._transport.read(PreviewPage, following)
            yield from page.previews

    def create(self, name: str, body: PreviewBody) -> Preview:
        """Make a preview; returns while it is built."""
        return self._transport.read(Preview, post("sandboxes", name, "previews", value=body))

    def log(self, name: str, preview_id: str) -> PreviewLog:
        """Return the output of the set-up."""
        return self._transport.read(
            PreviewLog, get("sandboxes", name, "previews", preview_id, "log")
        )

    def rebuild(self, name: str, preview_id: str) -> Preview:
        """Run the set-up again."""
        return self._transport.read(
            Preview, post("sandboxes", name, "previews", preview_id, "rebuild")
        )

    def delete(self, name: str, preview_id: str) -> Preview:
        """Tear a preview down."""
        call = Call("DELETE", at("sandboxes", name, "previews", preview_id))
        return self._transport.read(Preview, call)

    def ports(self, name: str) -> PortListView:
        """Return the ports on which something listens."""
        return self._transport.read(PortListView, get("sandboxes", name, "ports"))

    def link(self, name: str, what: str, body: LinkBody) -> Link:
        """Make a link to a port, named by its number, or to a preview, named by its id."""
        kind = "ports" if what.isdecimal() else "previews"
        return self._transport.read(Link, post("sandboxes", name, kind, what, "links", value=body))
