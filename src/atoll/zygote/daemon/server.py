"""The zygote's server: one SEQPACKET socket, a fixed list of verbs, one answer to each request.

The process may hold root, so it reads little, trusts nothing and does nothing but the verbs of
`wire.zygote.messages`. It accepts connections only from the control plane's uid and root
(SO_PEERCRED).
"""

import os
import socket
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from atoll.domain.errors import AtollError, Invalid
from atoll.wire.zygote import messages as wire
from atoll.wire.zygote.snapshots import (
    AdmitSnapshot,
    DropSnapshot,
    FindSnapshot,
    KeepSnapshot,
    LendSnapshot,
    ReturnSnapshot,
    SnapshotRequest,
)
from atoll.zygote.daemon.boxes import Boxes
from atoll.zygote.disk.host_mounts import remove_grants
from atoll.zygote.host import kernel
from atoll.zygote.host.children import Loop
from atoll.zygote.host.owned_socket import listen, peer_credentials
from atoll.zygote.jobs.imports import BundleImporter
from atoll.zygote.records.entry import Reply
from atoll.zygote.records.reports import refusal

MAX_CONNECTIONS = 16
MAX_IMPORTS = 4
MAX_WAITING_IMPORTS = 64
"""Imports that wait for one of those to end."""

MAX_UNSENT = 4096
"""Answers that wait for one reader."""

_BACKLOG = 16


@dataclass(slots=True)
class ZygoteServer:
    """Server that receives requests and dispatches them. `report` returns what the host
    provides."""

    loop: Loop
    boxes: Boxes
    importer: BundleImporter
    report: Callable[[], wire.Reported]
    _connections: dict[int, socket.socket] = field(default_factory=dict)
    _unsent: dict[int, deque[bytes]] = field(default_factory=dict)
    _imports: int = 0
    _waiting: deque[tuple[wire.Import, Reply]] = field(default_factory=deque)

    def listen(self, listener: socket.socket) -> None:
        """Accept connections on `listener`."""
        listener.setblocking(False)
        self.loop.watch(listener.fileno(), lambda: self._accept(listener))

    def unlisten(self, listener: socket.socket) -> None:
        """Accept no more connections; open ones stay."""
        self.loop.unwatch(listener.fileno())
        listener.close()

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _address = listener.accept()
        except OSError:
            return
        heard = {0, os.geteuid(), self.boxes.host.control_uid}
        if (
            peer_credentials(connection)[1] not in heard
            or len(self._connections) >= MAX_CONNECTIONS
        ):
            connection.close()
            return
        connection.setblocking(False)
        fd = connection.fileno()
        self._connections[fd] = connection
        self.loop.watch(fd, lambda: self._read(connection))

    def _read(self, connection: socket.socket) -> None:
        try:
            packet = connection.recv(wire.MAX_MESSAGE_BYTES + 1)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if not packet:
            self._hang_up(connection)
            return
        number, named = 0, ""
        try:
            asked = wire.decode_request(packet)
            number, named = asked.number, _log_suffix(asked)
            self._do(asked.request, lambda answer: self._send(connection, number, answer))
        except wire.Malformed as err:
            answer = wire.Refused("invalid", str(err))
            self._send(connection, wire.number_of(packet), answer)
        except AtollError as err:
            if named:
                print(f"zygote: refused: {err.message!r}{named}", file=sys.stderr, flush=True)
            self._send(connection, number, refusal(err))
        except OSError as err:
            print(f"zygote: {err}{named}", file=sys.stderr, flush=True)
            self._send(connection, number, wire.Refused("failed", f"the zygote failed: {err}"))

    def _do(self, request: wire.Request, reply: Reply) -> None:
        match request:
            case wire.Start() | wire.Serve() | wire.Await() | wire.Link():
                self._bring_up(request, reply)
            case wire.Stop() | wire.Destroy():
                keep = isinstance(request, wire.Stop)
                self.boxes.stop(request.sandbox_id, reply, keep=keep)
            case wire.RemoveGrants():
                reply(wire.Cleaned(remove_grants(self.boxes.host.home, request.names)))
            case wire.ListBoxes():
                reply(self.boxes.page(request.after))
            case wire.Report():
                reply(self.report())
            case wire.Import():
                self._import(request, reply)
            case (
                KeepSnapshot()
                | DropSnapshot()
                | FindSnapshot()
                | LendSnapshot()
                | ReturnSnapshot()
                | AdmitSnapshot()
            ):
                self._keep(request, reply)

    def _bring_up(
        self, request: wire.Start | wire.Serve | wire.Await | wire.Link, reply: Reply
    ) -> None:
        match request:
            case wire.Start():
                self.boxes.start(request, reply)
            case wire.Serve():
                self.boxes.serve(request, reply)
            case wire.Link():
                self.boxes.link(request, reply)
            case wire.Await():
                self.boxes.await_init(request, reply)

    def _keep(self, request: SnapshotRequest, reply: Reply) -> None:
        match request:
            case KeepSnapshot():
                self.boxes.keep_snapshot(request, reply)
            case DropSnapshot():
                self.boxes.snapshots.drop(request.snapshot, reply)
            case FindSnapshot():
                self.boxes.snapshots.find(request, reply)
            case LendSnapshot():
                self.boxes.snapshots.lend(request.snapshot, reply)
            case ReturnSnapshot():
                self.boxes.snapshots.end_loan(request.snapshot, reply)
            case AdmitSnapshot():
                self.boxes.snapshots.admit(request, reply)

    def _import(self, request: wire.Import, reply: Reply) -> None:
        self.importer.check(request)
        if self._imports < MAX_IMPORTS:
            self._begin_import(request, reply)
        elif len(self._waiting) < MAX_WAITING_IMPORTS:
            self._waiting.append((request, reply))
        else:
            why = f"{MAX_WAITING_IMPORTS} imports wait their turn: try again later"
            reply(wire.Refused("unavailable", why))

    def _begin_import(self, request: wire.Import, reply: Reply) -> None:
        uid = self.boxes.starts.take_uids() if self.boxes.host.root else None
        answers: list[wire.Answer] = []

        def report_end(_status: int) -> None:
            self._imports -= 1
            broke = wire.Refused("failed", "the import broke off; see the zygote's log")
            reply(answers[0] if answers else broke)
            self._import_next()

        self._imports += 1
        child = self.loop.fork(
            lambda channel: self.importer.work(request, uid, channel),
            lambda packet, _fds: answers.append(wire.decode_answer(packet).answer),
            report_end,
        )
        os.close(child.pidfd)

    def _import_next(self) -> None:
        if self._waiting:
            request, reply = self._waiting.popleft()
            try:
                self._begin_import(request, reply)
            except AtollError as err:
                reply(refusal(err))

    def broadcast(self, ended: wire.Ended) -> None:
        """Push the end of a sandbox to every connected control plane."""
        for connection in list(self._connections.values()):
            self._send(connection, 0, ended)

    def _send(self, connection: socket.socket, number: int, answer: wire.Answer) -> None:
        """Send an answer. Answers to closed connections are dropped; a peer that does not read is
        disconnected."""
        fd = connection.fileno()
        if self._connections.get(fd) is not connection:
            return
        unsent = self._unsent.setdefault(fd, deque())
        try:
            unsent.append(wire.encode_answer(number, answer))
        except wire.Malformed:
            self._hang_up(connection)
            return
        if len(unsent) == 1:
            self._flush(connection)
        elif len(unsent) > MAX_UNSENT:
            self._hang_up(connection)

    def _flush(self, connection: socket.socket) -> None:
        fd = connection.fileno()
        unsent = self._unsent[fd]
        try:
            while unsent:
                connection.send(unsent[0])
                unsent.popleft()
        except BlockingIOError:
            self.loop.call_when_writable(fd, lambda: self._flush(connection))
        except OSError:
            self._hang_up(connection)

    def _hang_up(self, connection: socket.socket) -> None:
        fd = connection.fileno()
        self._unsent.pop(fd, None)
        if self._connections.pop(fd, None) is not None:
            self.loop.unwatch(fd)
            connection.close()

    def serve(self) -> None:
        """Serve until SIGTERM, then end every sandbox and keep its files."""
        # What was loaded so far is shared with every child: the collector must not touch it.
        self.boxes.host.shared_memory.share()
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        self.loop.run(self.boxes.close)


def _log_suffix(asked: wire.NumberedRequest) -> str:
    """Return the end of a log line: the request of a client that led to this one, if any."""
    names = (("request_id", asked.request_id), ("traceparent", asked.traceparent))
    return "".join(f" {name}={value}" for name, value in names if value)


def bind(path: str, owner: int) -> socket.socket:
    """Return the zygote's listening socket, with mode 0600 and owner `owner`. Raises `Invalid` for
    a long path."""
    if len(os.fsencode(path)) > 100:
        raise Invalid(f"{path} is too long for a unix socket: choose a shorter ATOLL_HOME")
    return listen(path, owner, socket.SOCK_SEQPACKET, backlog=_BACKLOG)
