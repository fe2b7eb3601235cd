"""Sandboxes on another machine by `ext.ssh`, beside this machine's own and beside plain SSH.

The other machine is a real sshd on loopback, so that no network is measured: what is left is what
the link costs. Needs root, as an sshd that logs another user in does.
"""

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atoll.testing.server import test_server
from bench.figures import Series, table, verdict
from bench.server import Server, _client
from bench.terminal_peers import ECHO, flood
from bench.terminal_viewer import Viewer
from bench.terminals import FLOOD_BYTES, OwnAtoll, _flooded, keystrokes
from tests.e2e.walls.test_ssh import NOT_HERE, add_host
from tests.peers.api import api_of
from tests.peers.machines.ssh_server import USER, SshServer, throwaway_ssh_server

EXECS = 200
ROUNDS = 5
CALLS = 200


def link() -> None:
    """Exec, flood, echo, a broker call and memory over a link."""
    if NOT_HERE:
        print(f"  no sshd here ({NOT_HERE}): nothing measured")
        return
    with throwaway_ssh_server() as box, far_atoll(box) as atoll:
        near = OwnAtoll(atoll, atoll.create())
        far = OwnAtoll(atoll, atoll.create(profile="far"))
        _exec(near, far, box)
        _flood(near, far)
        _echo(near, far)
        _broker(near, far)
        _memory(box.uid)


@contextmanager
def far_atoll(box: SshServer) -> Iterator[Server]:
    """An Atoll that may put sandboxes on that machine."""
    with test_server({"ATOLL_EXTENSIONS": "namespaces,ssh"}) as host:
        one = Server(host, _client(host))
        try:
            with api_of(host) as api:
                add_host(api, box)
            yield one
        finally:
            one.api.close()


def _exec(near: OwnAtoll, far: OwnAtoll, box: SshServer) -> None:
    here, there, plain = (
        Series("exec true, namespaces"),
        Series("exec true, ext.ssh"),
        Series("ssh host true, held ControlMaster"),
    )
    with held(box) as ssh:
        for n in range(EXECS + 5):
            for series, run in (
                (here, lambda: near.atoll.run(near.sandbox, "true")),
                (there, lambda: far.atoll.run(far.sandbox, "true")),
                (plain, lambda: subprocess.run([*ssh, "true"], check=True)),
            ):
                started = time.perf_counter()
                run()
                if n >= 5:
                    series.samples.append((time.perf_counter() - started) * 1000)
    table("exec of `true`", here, there, plain)
    verdict("times plain SSH", there.median / plain.median, 1)


@contextmanager
def held(box: SshServer) -> Iterator[list[str]]:
    """Words that run a command there over a connection that is held."""
    own = box.folder / "held"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(own)], check=True)
    known = (box.folder / "authorized_keys").read_text()
    box.authorize(known + (box.folder / "held.pub").read_text())
    words = ["ssh", "-F", "none", "-i", str(own), "-p", str(box.port)]
    words += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
    words += ["-o", "LogLevel=ERROR", "-o", f"ControlPath={box.folder}/held.mux"]
    target = f"{USER}@127.0.0.1"
    subprocess.run([*words, "-M", "-f", "-N", target], check=True)
    try:
        yield [*words, target]
    finally:
        subprocess.run([*words, "-O", "exit", target], check=False, capture_output=True)


def _flood(near: OwnAtoll, far: OwnAtoll) -> None:
    series = {name: Series(f"100 MB to one viewer, {name}", "MB/s") for name in ("here", "there")}
    for _ in range(ROUNDS):
        for name, one in (("here", near), ("there", far)):
            terminal = one.open(*flood(FLOOD_BYTES))
            series[name].samples.append(_flooded([one.target(terminal, "v")], one.pids).rate)
            one.close(terminal)
    table("100 MB of text to one viewer", *series.values())
    part = series["there"].median / series["here"].median
    verdict("part of the rate of namespaces", part, 0.5, at_least=True)


def _echo(near: OwnAtoll, far: OwnAtoll) -> None:
    series = [Series("echo of a key, namespaces"), Series("echo of a key, ext.ssh")]
    for one, own in zip((near, far), series, strict=True):
        terminal = one.open(*ECHO)
        viewer = Viewer(one.target(terminal, "typist"))
        own.samples += keystrokes(viewer)
        viewer.close()
        one.close(terminal)
    table("echo of a keystroke", *series)
    verdict("times the p50 of namespaces", series[1].median / series[0].median, 2)


def _broker(near: OwnAtoll, far: OwnAtoll) -> None:
    """Refused calls, which end at the door: nothing upstream is measured."""
    script = (
        "import http.client, json, time\n"
        "taken = []\n"
        f"for _ in range({CALLS}):\n"
        "    started = time.perf_counter()\n"
        "    call = http.client.HTTPConnection('127.0.0.1', 8082)\n"
        "    call.request('GET', '/broker/nobody/x')\n"
        "    call.getresponse().read()\n"
        "    call.close()\n"
        "    taken.append((time.perf_counter() - started) * 1000)\n"
        "print(json.dumps(taken))\n"
    )
    series = [Series("call of the broker, namespaces"), Series("call of the broker, ext.ssh")]
    for one, own in zip((near, far), series, strict=True):
        body = {"argv": ["python3", "-c", script], "timeout": 120}
        answer = one.atoll.api.post(f"/v1/sandboxes/{one.sandbox}/exec", json=body)
        answer.raise_for_status()
        own.samples += json.loads(_text(answer.json()["stdout"]))
    table("a call of the broker", *series)
    verdict("times the p50 of namespaces", series[1].median / series[0].median, 2)


def _text(encoded: str) -> str:
    return base64.b64decode(encoded).decode()


def _memory(uid: int) -> None:
    """What the link takes on the other machine."""
    found = Series("the link's own memory (PSS)", "KiB")
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            # The files of one that is not dumpable belong to root, whoever runs it.
            owner = f"\nUid:\t{uid}\t" in (process / "status").read_text()
            if not (owner and b"serve" in words and b"--grace" in words):
                continue
            rollup = (process / "smaps_rollup").read_text()
        except OSError:
            continue
        pss = next(line for line in rollup.splitlines() if line.startswith("Pss:"))
        found.samples.append(float(pss.split()[1]))
    table("memory on the other machine", found)
    if found.samples:
        verdict("MiB", found.median / 1024, 1)
