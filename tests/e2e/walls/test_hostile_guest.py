"""A guest in the hands of an attacker, who is root there and holds the link's key: what it sends
ends its own sandbox, with a reason, and nobody else notices."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from atoll.wire.link import frames, handshake, stream
from tests.e2e.walls.test_microvm import CONFIG, NOT_HERE, PROFILE
from tests.peers.api import Api, api_of, until
from tests.peers.machines.microvm import home_with_image

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE),
]
ATTACKER = """#!/usr/bin/python3
import os, struct, sys, time
place = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, place)
import frames, handshake, stream

def frame(kind, channel, payload=b""):
    return struct.pack("<II", kind | len(payload) << 8, channel) + payload

def exactly(fd, count):
    found = b""
    while len(found) < count:
        more = os.read(fd, count - len(found))
        if not more:  # nobody is connected at the other side
            if found:
                return None
            time.sleep(0.05)
        found += more
    return found

def write(fd, data):
    while data:
        data = data[os.write(fd, data):]

def proven(fd, key):
    hello = handshake.decode_hello(exactly(fd, handshake.HELLO_BYTES))
    fresh = handshake.Continuation.FRESH
    challenge = handshake.Challenge(hello.nonce, fresh, 1, os.urandom(16), 0)
    write(fd, handshake.encode_challenge(key, hello, challenge))
    exactly(fd, handshake.ANSWER_BYTES)
    made = stream.ResumableStream(2**30)
    made.resume(0)
    return made

def send(fd, made, sent):
    made.write(sent)
    write(fd, made.drain())

key = sys.stdin.buffer.read(32)
attack = open(place + "/attack").read()
print("ready", flush=True)
if attack == "exit":
    sys.exit(7)
fd = os.open("/dev/atoll-link", os.O_RDWR)
if attack == "noise":
    while True:
        write(fd, os.urandom(65536))
made = proven(fd, key)
if attack == "forge":
    send(fd, made, frame(frames.Kind.PACKET, 0, b"\\0" + b"x" * 20))
door = (8082).to_bytes(4, "little")
number = frames.FAR_CHANNELS
while attack == "channels":
    more = range(number, number + 1000)
    send(fd, made, b"".join(frame(frames.Kind.ACCEPT, one, door) for one in more))
    made.restart()
    made.resume(0)
    number += 1000
time.sleep(3600)
"""
MOST_GROWN_KB = 150 * 1024
LOOKS = 40


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with test_server(start=False) as running:
        home_with_image(running.home)
        (running.home / "config.toml").write_text(CONFIG)
        running.start()
        with api_of(running) as api:
            api.call("PUT", "/v1/profiles/profile.vm", json=PROFILE)
        yield running


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    with api_of(server) as made:
        yield made


@pytest.fixture
def neighbour(api: Api) -> Iterator[str]:
    sandbox = api.create()["sandbox_id"]
    yield sandbox
    assert api.run(sandbox, "echo here") == "here\n"
    api.act(sandbox, "destroy")


def infect(server: TestServer, attack: str) -> None:
    """Replace the link's program in every machine that is booted from now on."""
    archive = server.home / "run" / "bin" / "far.tar"
    sources = [Path(str(one.__file__)) for one in (frames, handshake, stream)]
    changed = {one.name: one.read_bytes() for one in sources}
    changed |= {"link": ATTACKER.encode(), "attack": attack.encode()}
    with tarfile.open(archive) as packed:
        for entry in packed:
            if entry.name not in changed and (held := packed.extractfile(entry)) is not None:
                changed[entry.name] = held.read()
    with tarfile.open(archive, "w") as packed:
        for name, content in changed.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            packed.addfile(entry, io.BytesIO(content))


def requested(api: Api) -> str:
    told = api.call("POST", "/v1/sandboxes", json={"profile": "vm"})
    return str(told["sandbox_id"])


@pytest.mark.parametrize(
    ("attack", "reason"),
    [("exit", "its machine ended"), ("forge", "link to its machine was broken")],
)
def test_guest_that_breaks_its_link_fails_its_own_sandbox_with_the_reason(
    attack: str, reason: str, api: Api, server: TestServer, neighbour: str
) -> None:
    infect(server, attack)
    sandbox = requested(api)
    told = api.until(sandbox, lambda seen: seen["state"] == "failed", seconds=200)
    assert reason in told["reason"]
    assert api.run(neighbour, "echo here") == "here\n"
    api.act(sandbox, "destroy")
    assert not (server.home / "vms" / sandbox).exists()


@pytest.mark.parametrize("attack", ["noise", "channels"])
def test_guest_that_floods_grows_nothing_and_can_be_destroyed(
    attack: str, api: Api, server: TestServer, neighbour: str
) -> None:
    infect(server, attack)
    sandbox = requested(api)
    assert server.process is not None
    control = server.process.pid
    runtime = until(lambda: runtime_of(api, sandbox), bool, seconds=200)
    before = {pid: resident_kb(pid) for pid in (control, runtime)}
    for _ in range(LOOKS):
        assert api.run(neighbour, "echo here") == "here\n"
        for pid, was in before.items():
            assert resident_kb(pid) - was < MOST_GROWN_KB
    api.act(sandbox, "destroy")
    assert not (server.home / "vms" / sandbox).exists()


def runtime_of(api: Api, sandbox: str) -> int:
    try:
        return api.box(sandbox).runtime_pid
    except StopIteration:
        return 0


def resident_kb(pid: int) -> int:
    """The memory a process has; 0 once it ended, with a reason."""
    try:
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[1]) for line in status if line.startswith("VmRSS")), 0)
