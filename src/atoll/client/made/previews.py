"""Previews of apps in a sandbox, the ports on which something listens, and links that open them.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Pairs, Transport, api_path, get, post

PreviewState = Literal["building", "ready", "failed", "gone"]


class Link(Shape):
    """A link just made, which is good for one use and stored nowhere. `origin` is the origin
    that it opens. `local_only`: no other machine can open it."""

    url = fields.text()
    origin = fields.text()
    port = fields.number()
    expires_at = fields.text()
    local_only = fields.flag()


class Port(Shape):
    """A port on which something listens. `chosen`: its program chose the number itself."""

    port = fields.number()
    chosen = fields.flag()


class PortList(Shape):
    """The ports of a sandbox on which something listens, in order."""

    ports = fields.many(Port)


class Preview(Shape):
    """A preview. `url` is its origin, which opens for who came by a link. `terminal_id` is the
    terminal of the set-up that built it, `reason` says why that failed."""

    preview_id = fields.text()
    sandbox_id = fields.text()
    app = fields.text()
    port = fields.number()
    pr_number = fields.number()
    sha = fields.text()
    state: Field[PreviewState] = fields.word()
    reason = fields.text()
    terminal_id = fields.text()
    url = fields.text()
    created_at = fields.text()
    updated_at = fields.text()


class PreviewPage(Shape):
    """A page of previews, newest first."""

    previews = fields.many(Preview)
    next = fields.text()


class PreviewLog(Shape):
    """The output of the set-up that built a preview, as far as it is still kept."""

    text = fields.text()


class LinkBody(TypedDict, total=False):
    """A link to make: where it leads at its origin, and how long it may wait for its one use."""

    path: str
    ttl: int | str


class PreviewBody(TypedDict, total=False):
    """A preview to make: the name of the app, and the port at which its server will listen. With
    `pr_number` its name is `pr-{number}.{app}`. `sha` is the commit that it shows, for readers."""

    app: Required[str]
    port: Required[int]
    pr_number: int | None
    sha: str | None


class Previews:
    """Previews of apps in a sandbox. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def ports(self, name: str) -> PortList:
        """Return the ports inside on which something listens, without the sandbox's doors."""
        return self._transport.read(PortList, get("sandboxes", name, "ports"))

    def link_port(self, name: str, port_id: int, body: LinkBody) -> Link:
        """Make a link that opens a port in one browser, at an origin of its own."""
        return self._transport.read(
            Link, post("sandboxes", name, "ports", str(port_id), "links", value=body)
        )

    def create(self, name: str, body: PreviewBody) -> Preview:
        """Make a preview and begin to build it: the approved set-up of the project runs, unless
        it has."""
        return self._transport.read(Preview, post("sandboxes", name, "previews", value=body))

    def list(self, name: str, *, query: Pairs = ()) -> PreviewPage:
        """Return the sandbox's previews, those that are gone included."""
        return self._transport.read_all(
            PreviewPage, get("sandboxes", name, "previews", query=query)
        )

    def log(self, name: str, preview_id: str) -> PreviewLog:
        """Return the output of its set-up."""
        return self._transport.read(
            PreviewLog, get("sandboxes", name, "previews", preview_id, "log")
        )

    def rebuild(self, name: str, preview_id: str) -> Preview:
        """Run the set-up again."""
        return self._transport.read(
            Preview, post("sandboxes", name, "previews", preview_id, "rebuild")
        )

    def link(self, name: str, preview_id: str, body: LinkBody) -> Link:
        """Make a link that opens the preview in one browser."""
        return self._transport.read(
            Link, post("sandboxes", name, "previews", preview_id, "links", value=body)
        )

    def delete(self, name: str, preview_id: str) -> Preview:
        """Tear a preview down: its links and open connections end within 5 seconds."""
        return self._transport.read(
            Preview, Call("DELETE", api_path("sandboxes", name, "previews", preview_id))
        )
