"""An attach session: one client's WebSocket at a terminal, from its start message to its close.

Handles the frames a client sends, and ends the connection for the reasons of the contract. Sending
is `viewer`'s.
"""

import asyncio
import logging
import time
from dataclasses import dataclass

from atoll.domain.terminals.size import Size, clamp
from atoll.domain.terminals.turn import Party, TurnRefusal
from atoll.runtime.health import Activity
from atoll.runtime.terminals.terminal import Terminal
from atoll.runtime.terminals.viewers.link import Link
from atoll.runtime.terminals.viewers.viewer import (
    CLOSE_EXPIRED,
    CLOSE_FAILED,
    CLOSE_SILENT,
    INPUT_WINDOW_BYTES,
    Viewer,
    ViewerOptions,
)
from atoll.wire.attach import (
    HEARTBEAT_SECONDS,
    Ack,
    BadFrame,
    ClientMessage,
    GrantControl,
    Heartbeat,
    Point,
    Refused,
    RequestControl,
    Resize,
    Resync,
    RevokeControl,
    Say,
    Start,
    decode_client,
    pack,
)
from atoll.wire.http.ws_frames import Opcode
from atoll.wire.terminal.scrollback import Scrollback
from atoll.wire.words.terminals import Role

log = logging.getLogger("atoll.runtime")

PING_SECONDS = 25.0
MISSED_PONGS = 2
MAX_VIEWERS = 64
TURNS_PER_SECOND = 10
"""Frames about control one connection may send: each may be reported to every viewer."""


@dataclass(frozen=True, slots=True)
class AttachRequest:
    """Request to attach. `since` is the first byte wanted, `wanted_size` the size (None: any), and
    `expires` when this client must leave, in seconds since 1970. `marks` asks for pushed marks, and
    `heartbeat` for signs that the connection is alive. `given` is that of `Party`."""

    principal: str
    name: str
    client: str
    role: Role
    since: int | None
    wanted_size: Size | None
    take: bool
    expires: float | None
    marks: bool
    heartbeat: bool
    given: bool = False

    def party(self, client: str) -> Party:
        """Return the party that this request makes of a client id it may have."""
        return Party(self.principal, self.name, client, self.role, self.given)


@dataclass(frozen=True, slots=True)
class _Replay:
    """First output for a client: its offset, what puts a terminal into the state there, and the
    output that is `lost` before it."""

    offset: int
    preamble: bytes = b""
    lost: Resync | None = None


class AttachSession:
    """Session of one connection, from its start message to its close."""

    def __init__(
        self,
        terminal: Terminal,
        client: str,
        link: Link,
        attach_request: AttachRequest,
        *,
        activity: Activity,
    ) -> None:
        self._terminal = terminal
        self._request = attach_request
        self._replay = _replay_from(terminal.scrollback, attach_request.since)
        options = ViewerOptions(
            cursor=self._replay.offset,
            marked=terminal.marks.seq if attach_request.marks else None,
            guest=attach_request.expires is not None,
        )
        self._viewer = Viewer(attach_request.party(client), link, terminal, options)
        self._link = link
        self._activity = activity
        self._turns_from, self._turns = asyncio.get_running_loop().time(), 0

    async def serve(self) -> None:
        """Send and receive until either side ends it."""
        attach_request = self._request
        try:
            await self._begin()
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._ping())]
                if attach_request.heartbeat:
                    tasks.append(group.create_task(self._beat()))
                if attach_request.expires is not None:
                    tasks.append(group.create_task(self._expire(attach_request.expires)))
                try:
                    await self._link.run()
                finally:
                    for task in tasks:
                        task.cancel()
        except ConnectionError:
            # The peer is gone: what it had seen is kept by its cursor and acknowledgements.
            return
        except Exception:
            # The root of a connection: its defect must not end the terminal.
            log.exception("a viewer of terminal %s broke", self._terminal.spec.id)
            await self._link.close(CLOSE_FAILED, "the runtime's log says why")
        finally:
            self._terminal.leave(self._viewer)
            self._viewer.leave()

    async def _begin(self) -> None:
        """Add this client as a viewer, and say where its bytes begin."""
        viewer, wanted = self._viewer, self._request
        preamble, lost = self._replay.preamble, self._replay.lost
        self._terminal.join(viewer, viewer.cursor, wanted_size=wanted.wanted_size, take=wanted.take)
        await self._link.opened()
        self._link.start(self._receive, viewer.pump)
        start = self._start(b"" if lost else preamble, lost)
        viewer.begin(start, *(() if lost is None else (lost,)))
        if preamble:
            self._terminal.pty.nudge()

    def _start(self, preamble: bytes, lost: Resync | None) -> Start:
        size = self._terminal.pty.size
        return Start(
            offset=lost.start if lost is not None else self._viewer.cursor,
            preamble=pack(preamble),
            cols=size.cols,
            rows=size.rows,
            client=self._viewer.client,
            driver=self._terminal.driver,
            title=self._terminal.pty.title,
            ack_every=self._terminal.ack_every,
            input_window=INPUT_WINDOW_BYTES,
            live=self._viewer.live_from,
            fixed=self._terminal.fixed,
        )

    async def _ping(self) -> None:
        """Ask for a sign of life; close a connection that gives none."""
        clock = asyncio.get_running_loop().time
        while not self._link.closed:
            await asyncio.sleep(PING_SECONDS)
            if clock() - self._link.received_at > PING_SECONDS * MISSED_PONGS:
                await self._link.close(CLOSE_SILENT, "no pong")
            elif self._link.roomy:
                # A peer that reads nothing is not asked; its silence ends it above.
                self._link.send(Opcode.PING, b"")

    async def _beat(self) -> None:
        """Show a client that the connection is alive: a browser sees no pings."""
        while not self._link.closed:
            self._viewer.notify(Heartbeat(round(HEARTBEAT_SECONDS * 1000)))
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _expire(self, expires: float) -> None:
        """End the connection when its credential does."""
        await asyncio.sleep(max(0.0, expires - time.time()))
        await self._link.close(CLOSE_EXPIRED, "expired")

    def _receive(self, opcode: Opcode, data: bytes) -> None:
        """Handle one message of the client's."""
        try:
            if opcode is Opcode.BINARY:
                self._type_input(data)
            else:
                self._take_text(data.decode())
        except Exception:
            # The root of a message: a defect must not end the terminal.
            log.exception("a viewer of terminal %s broke", self._terminal.spec.id)
            self._link.end(CLOSE_FAILED, "the runtime's log says why")

    def _type_input(self, data: bytes) -> None:
        """Type a viewer's input, or notify the viewer why it is refused."""
        if not data:
            return
        refusal = self._terminal.type(self._viewer, data)
        if refusal is None:
            self._viewer.typed()
            self._activity.touch()
        else:
            self._viewer.input_taken(len(data))
            self._viewer.notify(refusal)

    def _take_text(self, text: str) -> None:
        try:
            message = decode_client(text)
        except BadFrame as error:
            self._viewer.notify(Refused("bad_frame", str(error)[:500]))
            return
        refusal = self._do(message)
        if refusal is not None:
            self._viewer.notify(Refused(refusal.code, refusal.message))

    def _do(self, message: ClientMessage) -> TurnRefusal | None:
        """Perform the request of a message; returns why not when it is refused."""
        viewer = self._viewer
        if not self._terminal.is_newest(viewer):
            return TurnRefusal("superseded", "this client is here by a newer connection")
        match message:
            case Ack(offset):
                if not self._terminal.acknowledge(viewer, offset):
                    return TurnRefusal("bad_ack", f"offset {offset} cannot be right")
                return None
            case Resize(cols, rows):
                if not self._terminal.want_size(viewer, clamp(cols, rows)):
                    return TurnRefusal("not_driver", "only the driver sets the size")
                return None
            case RequestControl() | GrantControl() | RevokeControl():
                return self._turn(message)
            case Say() | Point():
                return self._show(message)

    def _show(self, message: Say | Point) -> TurnRefusal | None:
        """Show the others at the terminal what a person says, or where it points."""
        if isinstance(message, Say):
            return self._terminal.say(self._viewer, message.text)
        self._terminal.pointing.point(self._viewer.client, message)
        return None

    def _count_turn_request(self) -> bool:
        """Count a request about the turn. Returns whether the rate allows it."""
        now = asyncio.get_running_loop().time()
        if now >= self._turns_from + 1:
            self._turns_from, self._turns = now, 0
        self._turns += 1
        return self._turns <= TURNS_PER_SECOND

    def _turn(self, message: RequestControl | GrantControl | RevokeControl) -> TurnRefusal | None:
        control, client = self._terminal.control, self._viewer.client
        if not self._count_turn_request():
            return TurnRefusal("too_fast", f"{TURNS_PER_SECOND} of these a second are enough")
        match message:
            case RequestControl():
                return control.request(client)
            case GrantControl(to):
                return control.grant(client, to)
            case RevokeControl():
                return control.revoke(client)


def _replay_from(scrollback: Scrollback, since: int | None) -> _Replay:
    """Return where the output begins for a client that has everything before `since`."""
    if since is not None and scrollback.start <= since <= scrollback.end:
        return _Replay(since)
    cut = scrollback.first_cut()
    # A terminal watched from its first byte needs nothing set.
    preamble = cut.preamble() if cut.offset or since is not None else b""
    if since is not None and since != cut.offset:
        return _Replay(cut.offset, preamble, Resync(since, cut.offset, pack(preamble)))
    return _Replay(cut.offset, preamble)
