"""Descriptors of clients are closed exactly once, and what a client sent counts at once."""

import asyncio
import gc
import os
import socket
import struct
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import asyncssh
import pytest
import uvloop

from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.surfaces.ssh.connection import Connection
from atoll.surfaces.ssh.control_plane import ControlPlane
from atoll.surfaces.ssh.gateway import Gateway, _Candidate
from atoll.surfaces.ssh.reports import Reporter
from atoll.surfaces.ssh.tries import Progress
from atoll.wire.contract.ssh import Identity

EARLY_ENDERS = 60
BEGINNINGS = (b"SSH-2.0-Ope", b"\x1b]0;owned\x07", b"SSH-2.0-x\r\n", b"GET / HTTP/1.1\r\n\r\n")
RESET = struct.pack("ii", 1, 0)
"""A linger of no time: the close resets the connection."""


def serve_clients(tmp_path: Path, *clients: socket.socket) -> None:
    """Serve accepted sockets on the loop of a gateway, until each has ended."""

    async def serve() -> None:
        control, runtimes = ControlPlane(lambda: None, "token"), HttpRuntimeClients()
        key = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
        identity = Identity(host_key=key, host_certificate="", address="")
        try:
            gateway = Gateway(control, runtimes, Reporter(control, tmp_path / "reports"), identity)
            async with asyncio.timeout(30), asyncio.TaskGroup() as group:
                for client in clients:
                    client.setblocking(False)
                    group.create_task(gateway._serve(client, "203.0.113.9", None))
        finally:
            await runtimes.close()
            await control.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())


def test_descriptors_of_clients_that_end_early_are_closed_once(tmp_path: Path) -> None:
    """A socket that nobody detached closes its number again when it is collected, and warns."""
    accepted = []
    with socket.create_server(("127.0.0.1", 0), backlog=EARLY_ENDERS) as listener:
        for number in range(EARLY_ENDERS):
            with socket.create_connection(listener.getsockname()) as client:
                client.sendall(BEGINNINGS[number % len(BEGINNINGS)])
                accepted.append(listener.accept()[0])
                if number % 2:
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always", ResourceWarning)
        serve_clients(tmp_path, *accepted)
        numbers = [client.fileno() for client in accepted]
        accepted.clear()
        gc.collect()
    assert numbers == [-1] * EARLY_ENDERS
    assert not unclosed


@pytest.mark.parametrize("fails", [True, False])
def test_number_of_a_descriptor_that_the_transport_closed_is_left_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """Another connection may have the number before the first one's login is over."""
    others = []

    async def run_server(client: socket.socket, **_: Any) -> None:
        number = client.fileno()
        os.close(number)
        others.append(os.open(os.devnull, os.O_RDONLY))
        assert others == [number]
        if fails:
            raise OSError("it ended early")

    monkeypatch.setattr("asyncssh.run_server", run_server)
    ours, theirs = socket.socketpair()
    with ours:
        ours.sendall(BEGINNINGS[0])
        serve_clients(tmp_path, theirs)
        del theirs
        gc.collect()
        os.fstat(others[0])
    os.close(others[0])


@pytest.mark.parametrize(
    ("beginning", "progress"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", Progress.GREETED),
        (b"SSH-2.0-Ope", Progress.CONNECTED),
        (b"HTTP/1.1 200\r\n", Progress.CONNECTED),
    ],
)
@pytest.mark.parametrize("made", [False, True])
def test_version_that_nobody_read_yet_counts(
    beginning: bytes, progress: Progress, made: bool
) -> None:
    """Else who speaks is dropped for others, between the making of a connection and its read."""
    connection = Connection(Mock(), "203.0.113.9", None)
    if made:
        connection.connection_made(Mock(get_extra_info=Mock(return_value=None)))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(beginning)
        assert _Candidate(theirs, connection, theirs.close).progress is progress
