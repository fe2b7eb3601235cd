"""Sessions of the multiplayer API: sandboxes in the terms of that contract."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import NO_WAIT, Waiting
from atoll.wire.api.operation import Answer, Area, operation
from atoll.wire.api.sandboxes.requests import CreateBody
from atoll.wire.api.sandboxes.sandboxes import IdempotencyKey, Unpulled
from atoll.wire.words.sandboxes import State

SessionRef = Annotated[
    str, Meta(description="A session's id or its name.", min_length=1, max_length=200)
]


class SessionView(Answer):
    """A session: a sandbox, which `/v1/sandboxes/{session_id}` shows whole."""

    session_id: str
    name: str
    state: State
    created_at: str


class Sessions(Area):
    """The sessions of the multiplayer API."""

    tag = "multiplayer"
    needs = "sandbox.manage"

    @operation(
        "POST /sessions",
        name="make_session",
        status=202,
        needs="sandbox.create",
        also={201: "Ready."},
        problems=(400, 404, 409, 413, 416, 502),
    )
    def create(
        self,
        body: CreateBody | None = None,
        *,
        waiting: Waiting = NO_WAIT,
        idempotency_key: IdempotencyKey = None,
    ) -> SessionView:
        """Create a session; the body is that of `POST /v1/sandboxes`, and may be left out.

        Nobody can type to its agents while they work, unless the body sets `softlock: owner`.
        """

    @operation(
        "DELETE /sessions/{session}",
        name="end_session",
        status=204,
        problems=(400, 404, 409, 413, 416, 502),
    )
    def end(self, session: SessionRef, *, unpulled: Unpulled = None) -> None:
        """End a session and everything in it; a second call is not an error.

        With `unpulled=refuse` it stays while it holds work that nobody has outside.
        """
