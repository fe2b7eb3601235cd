"""The broker's queue under attack from inside: what is sent early, and answers nobody reads."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.peers.api import until
from tests.security.conftest import Walled

GROWTH_KIB = 24 * 1024
SENDER = """
import pathlib, socket, sys, threading, time
path, pad, most, reads, out = sys.argv[1:]
one = f"GET {path} HTTP/1.1\\r\\nHost: x\\r\\nX: {'a' * int(pad)}\\r\\n\\r\\n".encode()
chunk = one * max(1, 65536 // len(one))
door = socket.create_connection(("127.0.0.1", 8082))
door.settimeout(60 if int(reads) else 3)
answers = 0
def read():
    global answers
    try:
        while data := door.recv(1 << 20):
            answers += data.count(b"HTTP/1.1 ")
    except OSError:
        pass
if int(reads):
    threading.Thread(target=read, daemon=True).start()
sent = 0
try:
    while sent < int(most) << 20:
        sent += door.send(chunk)
except OSError:
    pass
if int(reads):
    deadline = time.monotonic() + 60
    while answers < sent // len(one) and time.monotonic() < deadline:
        time.sleep(0.05)
pathlib.Path(out).write_text(f"{sent >> 20} {answers}\\n")
while not pathlib.Path(out + ".end").exists():
    time.sleep(0.05)
"""


@contextmanager
def silent_upstream() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    held: list[socket.socket] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                held.append(listener.accept()[0])
            except OSError:
                return

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for each in held:
            each.close()


@pytest.fixture
def attacked(walled: Walled) -> Iterator[tuple[Walled, str]]:
    """A sandbox with a key for a provider that never answers."""
    with silent_upstream() as port:
        use = {"kind": "provider", "provider": "cohere", "base_url": f"http://127.0.0.1:{port}"}
        body = {"name": "SILENT", "value": "silent-canary-0123456789", **use}
        secret = walled.api.call("POST", "/v1/secrets", json=body)
        box = walled.api.create(profile="attacked")["sandbox_id"]
        try:
            yield walled, box
        finally:
            walled.api.act(box, "destroy")
            walled.api.call("DELETE", f"/v1/secrets/{secret['secret_id']}")


def peak_kib(pid: int) -> tuple[int, int]:
    """The most memory a process held, and what it holds."""
    text = Path(f"/proc/{pid}/status").read_text()
    peak, now = re.search(r"VmHWM:\s+(\d+)", text), re.search(r"VmRSS:\s+(\d+)", text)
    assert peak and now
    return int(peak[1]), int(now[1])


def start(walled: Walled, box: str, name: str, arguments: str) -> None:
    """Start a sender inside. It keeps its connection."""
    program = f"/workspace/{name}-sender.py"
    argv = f"python3 {program} {arguments} /workspace/{name}"
    walled.api.run(box, f"cat >{program} <<'E'\n{SENDER}\nE\n{argv} >/dev/null 2>&1 &")


def sent(walled: Walled, box: str, name: str) -> tuple[int, int]:
    """How many MiB a sender could send, and the answers it read."""
    line = f"cat /workspace/{name} 2>/dev/null || true"
    said = until(lambda: walled.api.run(box, line), bool, 180)
    mebibytes, answers = map(int, said.split())
    return mebibytes, answers


def test_what_is_sent_early_or_never_read_does_not_grow_the_runtime(
    attacked: tuple[Walled, str],
) -> None:
    """Before, 700 MiB sent behind a silent provider were 687 MiB held, and kept after the end."""
    walled, box = attacked
    pid = walled.api.box(box).runtime_pid
    # A control: the same passes this door when it is answered and the answers are read.
    start(walled, box, "read", "/broker/nobody/x 16000 50 1")
    mebibytes, answers = sent(walled, box, "read")
    assert mebibytes >= 50 and answers >= 50 * 60
    peak, now = peak_kib(pid)
    start(walled, box, "early", "/broker/cohere/v1/models 16000 200 0")
    start(walled, box, "unread", "/broker/nobody/x 8 48 0")
    early, unread = sent(walled, box, "early")[0], sent(walled, box, "unread")[0]
    assert peak_kib(pid)[0] - peak < GROWTH_KIB, (early, unread)
    walled.api.run(box, "cd /workspace && touch read.end early.end unread.end")
    held = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[s]ender.py' || true"
    until(lambda: walled.api.run(box, held).strip(), lambda count: count == "0")
    until(lambda: peak_kib(pid)[1] - now, lambda grown: grown < GROWTH_KIB)
    assert early < 200 and unread < 48
