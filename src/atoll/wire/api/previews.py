"""Previews of apps in a sandbox, the ports on which something listens, and links that open them."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging, SandboxRef, Seconds
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.previews import (
    LINK_SECONDS,
    MAX_APP,
    MAX_NUMBER,
    MAX_PATH,
    MAX_PORTS,
    PreviewState,
)

Port = Annotated[int, Meta(description="A port of the sandbox's loopback.", ge=1, le=65535)]


class LinkBody(Request):
    """A link to make: where it leads at its origin, and how long it may wait for its one use."""

    path: Annotated[str, Meta(min_length=1, max_length=MAX_PATH)] = "/"
    ttl: Seconds = Seconds(LINK_SECONDS)


class LinkView(Answer):
    """A link just made, which is good for one use and stored nowhere. `origin` is the origin that
    it opens. `local_only`: no other machine can open it."""

    url: str
    origin: str
    port: int
    expires_at: str
    local_only: bool


class PortView(Answer):
    """A port on which something listens. `chosen`: its program chose the number itself."""

    port: int
    chosen: bool


class PortListView(Answer):
    """The ports of a sandbox on which something listens, in order."""

    ports: list[PortView]


class PreviewBody(Request):
    """A preview to make: the name of the app, and the port at which its server will listen. With
    `pr_number` its name is `pr-{number}.{app}`. `sha` is the commit that it shows, for readers."""

    app: Annotated[str, Meta(min_length=1, max_length=MAX_APP)]
    port: Annotated[int, Meta(ge=1, le=65535)]
    pr_number: Annotated[int, Meta(ge=1, le=MAX_NUMBER)] | None = None
    sha: Annotated[str, Meta(pattern=r"^[0-9a-f]{7,64}\Z")] | None = None


class PreviewView(Answer):
    """A preview. `url` is its origin, which opens for who came by a link. `terminal_id` is the
    terminal of the set-up that built it, `reason` says why that failed."""

    preview_id: str
    sandbox_id: str
    app: str
    port: int
    pr_number: int | None
    sha: str | None
    state: PreviewState
    reason: str | None
    terminal_id: str | None
    url: str
    created_at: str
    updated_at: str


class PreviewPage(Answer):
    """A page of previews, newest first."""

    previews: list[PreviewView]
    next: str | None


class PreviewLogView(Answer):
    """The output of the set-up that built a preview, as far as it is still kept."""

    text: str


class Ports(Area):
    """Ports of a sandbox's loopback."""

    tag = "previews"
    needs = "exec.use"

    @operation(
        "GET /v1/sandboxes/{sandbox}/ports",
        name="read_ports",
        needs="sandbox.read",
        problems=(404, 409, 502),
        max_items=MAX_PORTS,
    )
    def list(self, sandbox: SandboxRef) -> PortListView:
        """Return the ports inside on which something listens, without the sandbox's doors."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/ports/{port}/links",
        name="make_port_link",
        status=201,
        problems=(404, 409, 502),
    )
    def link(self, sandbox: SandboxRef, port: Port, body: LinkBody) -> LinkView:
        """Make a link that opens a port in one browser, at an origin of its own."""

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/ports/{port}/links",
        name="close_port",
        status=204,
        problems=(404,),
    )
    def close(self, sandbox: SandboxRef, port: Port) -> None:
        """End the links to a port, and the pages that came by them, within 5 seconds. Who manages
        the sandbox ends everybody's, others their own."""


_FAILURES = (404, 409, 413, 502)


class Previews(Area):
    """Previews of apps in a sandbox."""

    tag = "previews"
    needs = "sandbox.manage"

    @operation(
        "POST /v1/sandboxes/{sandbox}/previews",
        name="create_preview",
        status=201,
        problems=_FAILURES,
    )
    def create(self, sandbox: SandboxRef, body: PreviewBody) -> PreviewView:
        """Make a preview and begin to build it: the approved set-up of the project runs, unless it
        has."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/previews",
        name="list_previews",
        needs="sandbox.read",
        problems=(404,),
    )
    def list(self, sandbox: SandboxRef, *, page: Paging = FIRST_PAGE) -> PreviewPage:
        """Return the sandbox's previews, those that are gone included."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/previews/{preview}",
        name="get_preview",
        needs="sandbox.read",
        problems=(404,),
    )
    def get(self, sandbox: SandboxRef, preview: ItemId) -> PreviewView:
        """Return one preview."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/previews/{preview}/log",
        name="read_preview_log",
        needs="terminal.watch",
        problems=_FAILURES,
    )
    def log(self, sandbox: SandboxRef, preview: ItemId) -> PreviewLogView:
        """Return the output of its set-up."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/previews/{preview}/rebuild",
        name="rebuild_preview",
        problems=_FAILURES,
    )
    def rebuild(self, sandbox: SandboxRef, preview: ItemId) -> PreviewView:
        """Run the set-up again."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/previews/{preview}/links",
        name="make_preview_link",
        needs="exec.use",
        status=201,
        problems=_FAILURES,
    )
    def link(self, sandbox: SandboxRef, preview: ItemId, body: LinkBody) -> LinkView:
        """Make a link that opens the preview in one browser."""

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/previews/{preview}",
        name="tear_down_preview",
        problems=(404,),
    )
    def tear_down(self, sandbox: SandboxRef, preview: ItemId) -> PreviewView:
        """Tear a preview down: its links and open connections end within 5 seconds."""
