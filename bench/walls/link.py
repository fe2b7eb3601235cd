"""Sandboxes on another machine by `ext.ssh`, beside this machine's own and beside plain SSH.

The other machine is a real sshd on loopback, so that no network is measured: what is left is what
the link costs. Needs root, as an sshd that logs another user in does.
"""

import base64
import json
import shutil
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
from tests.e2e.agents.test_agents_in_stacks import add_host as join
from tests.e2e.walls.test_ssh import KEY, NOT_HERE, add_host, model
from tests.peers.api import api_of
from tests.peers.docker_daemon import IMAGE, docker_daemon, why_not
from tests.peers.machines.ssh_server import USER, SshServer, missing, throwaway_ssh_server

EXECS = 200
STACK_EXECS = 60
ROUNDS = 5
CALLS = 200
CALLING = """
import http.client, json, time
taken = []
for _ in range({}):
    started = time.perf_counter()
    call = http.client.HTTPConnection('127.0.0.1', 8082)
    call.request('GET', '/broker/{}')
    call.getresponse().read()
    call.close()
    taken.append((time.perf_counter() - started) * 1000)
print(json.dumps(taken))
"""
NO_STACKS = (
    missing() or why_not() or ("" if shutil.which("docker-compose") else "no docker-compose")
)


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
    stacks()


def stacks() -> None:
    """Exec among the services of a stack, beside `docker exec` by SSH."""
    if NO_STACKS:
        print(f"  no stacks here ({NO_STACKS}): not measured")
        return
    with (
        docker_daemon() as daemon,
        throwaway_ssh_server(daemon.folder / "d.sock") as box,
        test_server({"ATOLL_EXTENSIONS": "namespaces,compose-ssh"}, cold=True) as host,
        api_of(host) as api,
    ):
        join(api, box)
        bundle = {"compose_bundle": f"services: {{agent: {{image: '{IMAGE}'}}}}\n"}
        sandbox = api.create(profile="compose-e2e", inputs=bundle)["sandbox_id"]
        (container,) = daemon.containers()
        series = Series("exec true, ext.compose-ssh"), Series("ssh host docker exec true, held")
        docker = ["docker", "-H", f"unix://{daemon.folder}/d.sock", "exec", container, "true"]
        with held(box) as ssh:
            runs = (
                (series[0], lambda: api.run(sandbox, "true")),
                (series[1], lambda: subprocess.run([*ssh, *docker], check=True)),
            )
            for n in range(STACK_EXECS + 5):
                for one, run in runs:
                    started = time.perf_counter()
                    run()
                    if n >= 5:
                        one.samples.append((time.perf_counter() - started) * 1000)
        table("exec of `true` in a stack", *series)
        verdict("times docker exec by SSH", series[0].median / series[1].median, 0.2)


@contextmanager
def far_atoll(box: SshServer) -> Iterator[Server]:
    """An Atoll that may put sandboxes on that machine."""
    keys = f'[openai]\nkey = "{KEY}"\n'
    with (
        model() as url,
        test_server(
            {"ATOLL_EXTENSIONS": "namespaces,ssh"}, start=False, keys=keys, cold=True
        ) as host,
    ):
        (host.home / "config.toml").write_text(f'[upstreams]\nopenai = "{url}"\n')
        host.start()
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
    """Calls of a model's provider on loopback, with the key that the broker adds; and refused ones,
    which end at the door: what the way to it costs."""
    for name, path, bound in (("call of the broker", "openai/v1/models", 2), ("refusal", "x", 0)):
        series = [Series(f"{name}, namespaces"), Series(f"{name}, ext.ssh")]
        for one, own in zip((near, far), series, strict=True):
            body = {"argv": ["python3", "-c", CALLING.format(CALLS, path)], "timeout": 120}
            answer = one.atoll.api.post(f"/v1/sandboxes/{one.sandbox}/exec", json=body)
            answer.raise_for_status()
            own.samples += json.loads(_text(answer.json()["stdout"]))
        table(f"a {name}", *series)
        ratio = series[1].median / series[0].median
        if bound:
            verdict("times the p50 of namespaces", ratio, bound)
        else:
            print(f"  {ratio:.2f} times the p50 of namespaces")


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
