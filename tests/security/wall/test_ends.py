"""What ends with a sandbox, behind every wall: every process, however it hid, and every way
through the doors, even when its runtime is killed while an agent streams."""

import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.peers.api import until
from tests.security.conftest import Walled

SECONDS = 5
MARK = f"atoll-test-zoo-{os.getpid()}-"
ZOO = """
import os, pty, signal, sys, time
def daemon(act):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_IGN)
            os.closerange(0, 3)
            os.chdir("/")
            act()
        os._exit(0)
    os.wait()
def sleeps():
    time.sleep(3600)
def stops():
    os.kill(os.getpid(), signal.SIGSTOP)
def spins():
    while True:
        pass
def flees():
    while True:  # a new process every moment, the old one gone
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.005)
def hides():
    pty.fork()
    time.sleep(3600)
for act in (sleeps, stops, spins, flees, hides):
    daemon(act)
print("out")
"""
STREAM = """
import http.client, os, socket, time
note = os.open("/workspace/note", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
def tell(word):
    os.write(note, word.encode() + b" ")
    os.fsync(note)
if os.fork() == 0:
    os.setsid()
    tell("watching")
    while True:
        for family, host in ((2, "127.0.0.1"), (10, "::1"), (2, "0.0.0.0"), (10, "::")):
            for port in (8082, 3128):
                with socket.socket(family) as mine:
                    mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                    try:
                        mine.bind((host, port))
                        tell("TAKEN")
                    except OSError:
                        pass
call = http.client.HTTPConnection("127.0.0.1", 8082)
call.request("POST", "/broker/openai/v1/responses", "{}", {"Content-Type": "application/json"})
answer = call.getresponse()
tell(str(answer.status))
try:
    while answer.read1(64):
        tell("piece")
    tell("WHOLE")
except (OSError, http.client.HTTPException):
    tell("broken")
"""


class Endless:
    """A provider whose answer never ends, and who notices when nobody listens any more."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.sent = 0
        self.cut = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self.server.accept()
            except OSError:
                return
            with peer:
                self._stream(peer)

    def _stream(self, peer: socket.socket) -> None:
        try:
            peer.recv(65536)
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            peer.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            while True:
                peer.sendall(b"9\r\ndata: x\n\n\r\n")
                self.sent += 1
                time.sleep(0.02)
        except OSError:
            self.cut.set()


def marked() -> list[int]:
    """Processes of the zoo that are left on this machine."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and MARK.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


@pytest.mark.parametrize("verb", ["stop", "destroy"])
def test_end_leaves_none_of_those_that_hid(walled: Walled, verb: str) -> None:
    api = walled.api
    box = api.create(profile="attacked")["sandbox_id"]
    told = api.call(
        "POST", f"/v1/sandboxes/{box}/exec", json={"argv": ["python3", "-c", ZOO, MARK]}
    )
    assert told["exit_code"] == 0
    assert len(marked()) >= 5
    began = time.monotonic()
    api.act(box, verb)
    until(marked, lambda left: not left, seconds=SECONDS)
    assert time.monotonic() - began < SECONDS
    if verb == "stop":
        api.act(box, "destroy")


def test_runtime_killed_while_an_agent_streams_closes_everything(walled: Walled) -> None:
    api = walled.api
    provider = Endless()
    key = {"value": "sk-endless-5Hk2Wq8Zt4", "kind": "provider", "provider": "openai"}
    api.call("PUT", "/v1/secrets/ENDLESS", json={**key, "base_url": provider.url})
    box = api.create(profile="attacked")["sandbox_id"]
    program = {"argv": ["python3", "-c", STREAM], "background": True}
    api.call("POST", f"/v1/sandboxes/{box}/exec", json=program)
    until(lambda: api.run(box, "cat note 2>/dev/null || true"), lambda note: "piece" in note)
    assert not provider.cut.is_set()
    os.kill(api.box(box).runtime_pid, signal.SIGKILL)
    failed = api.until(box, lambda told: told["state"] == "failed", seconds=SECONDS)
    assert "SIGKILL" in failed["reason"]
    assert provider.cut.wait(SECONDS), "the provider still sends"
    api.act(box, "start")
    note = api.run(box, "cat note")
    assert note.startswith(("watching", "200")) and "watching" in note and "200" in note
    assert "TAKEN" not in note and "WHOLE" not in note
    provider.server.close()
    api.act(box, "destroy")
    api.call("DELETE", "/v1/secrets/ENDLESS")
