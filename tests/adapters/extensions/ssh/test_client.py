"""OpenSSH's client as it is driven: what ends it."""

import asyncio
import socket
from pathlib import Path

import pytest

from atoll.adapters.extensions.ssh import client as module
from atoll.adapters.extensions.ssh.client import END_SECONDS, SshClient, SshHost

HOST = SshHost("ssh://ada@192.0.2.1", "ssh-ed25519 AAAA", "/absent")


def client_of(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> SshClient:
    """Return a client whose program is a script."""
    monkeypatch.setattr(module, "openssh_argv", lambda _name: ("sh", "-c", script, "ssh"))
    return SshClient("box", HOST, folder)


async def test_stream_that_hears_nothing_ends_soon_after_its_near_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(tmp_path, monkeypatch, "echo ready; exec sleep 600")
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        async with asyncio.timeout(END_SECONDS + 3), asyncio.TaskGroup() as tasks:
            stream = tasks.create_task(client.stream("x", near=far))
            assert await asyncio.get_running_loop().sock_recv(near, 100) == b"ready\n"
            assert not stream.done()
            near.close()
            assert await stream == ""


async def test_stream_carries_both_ways_and_says_what_its_client_complains_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(tmp_path, monkeypatch, "read a; echo $a; echo words >&2; exit 3")
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        near.send(b"there\n")
        assert await client.stream("x", near=far) == "words"
        assert near.recv(100) == b"there\n"


async def test_stream_that_is_cancelled_leaves_no_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(tmp_path, monkeypatch, "echo $$; exec sleep 600")
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        async with asyncio.TaskGroup() as tasks:
            stream = tasks.create_task(client.stream("x", near=far))
            pid = int(await asyncio.get_running_loop().sock_recv(near, 100))
            stream.cancel()
        assert not Path(f"/proc/{pid}").exists()
