"""`python -m bench [NAME…]`: create, exec, memory, docker …; all of them without a name."""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from atoll.runtime.settling import IDLE_SECONDS
from atoll.zygote.start.pool import POOL_SIZE
from bench.attach import attach
from bench.broker import broker
from bench.changes import changes
from bench.cli import cli
from bench.control.bus import bus
from bench.control.fanout import fanout
from bench.control.replicas import replicas
from bench.control.surface import surface
from bench.dashboard.dashboard import dashboard
from bench.database.events import events
from bench.database.listing import listing
from bench.figures import Series, table, verdict
from bench.neighbour import neighbour
from bench.page import page
from bench.peers import BareBubblewrap, Docker, fork_and_exec, milliseconds
from bench.processes import zygote_pss
from bench.redaction import redaction
from bench.review import review
from bench.server import Server, server
from bench.sleep import sleep
from bench.ssh.gateway import ssh
from bench.ssh.sftp import sftp
from bench.status import status
from bench.terminal_memory import terminal_memory
from bench.terminals import terminals
from bench.tools.mcp import mcp
from bench.walls.contents import contents
from bench.walls.docker_peer import docker_peer
from bench.walls.docker_wall import docker_wall
from bench.walls.link import link
from bench.walls.pools import pools
from bench.walls.prebuilds import prebuilds
from bench.walls.route import route
from bench.walls.snapshots import snapshots
from bench.workers.workers import workers

CREATES = 25
EXECS = 200
CROWD = 100
MEMORY_SANDBOXES = 10
MEMORY_SECONDS = 12


def create() -> None:
    """create → first command output, beside bare bubblewrap and `docker run`."""
    ours, floor, peer = (
        Series("atoll: create, then first output"),
        Series("bare bwrap … true"),
        Series("docker run --rm … true"),
    )
    ready = Series("  of which: create until ready")
    bare = BareBubblewrap()
    with docker_peer() as host, closing(Docker(host)) as docker, server() as atoll:
        for n in range(CREATES + 3):
            floor_ms = bare.sample()
            started = time.perf_counter()
            sandbox = atoll.create()
            ready_ms = milliseconds(started)
            assert atoll.run(sandbox, "echo", "x")["exit_code"] == 0
            total_ms = milliseconds(started)
            atoll.api.delete(f"/v1/sandboxes/{sandbox}", params={"wait": "true"})
            if n >= 3:  # the first ones warm caches on all sides
                floor.samples.append(floor_ms)
                ready.samples.append(ready_ms)
                ours.samples.append(total_ms)
                if docker.here:
                    peer.samples.append(docker.run())
    bare.close()
    table("create → first command output", floor, ready, ours, peer)
    verdict("times the bubblewrap floor", ours.median / floor.median, 4)
    if peer.samples:
        verdict("times faster than docker run", peer.median / ours.median, 8, at_least=True)
    else:
        print("  no Docker daemon here: not compared")


def exec_true() -> None:
    """`exec true` on a live sandbox, beside fork+exec and `docker exec`."""
    ours, floor, peer = (
        Series("atoll: exec true"),
        Series("fork+exec true"),
        Series("docker exec true"),
    )
    with docker_peer() as host, closing(Docker(host)) as docker, server() as atoll:
        sandbox = atoll.create()
        for n in range(EXECS + 10):
            floor_ms = fork_and_exec()
            started = time.perf_counter()
            assert atoll.run(sandbox, "true")["exit_code"] == 0
            if n >= 10:
                ours.samples.append(milliseconds(started))
                floor.samples.append(floor_ms)
                if docker.here and n % 10 == 0:
                    peer.samples.append(docker.exec())
    table("exec true on a live sandbox", floor, ours, peer)
    verdict("ms over the floor", ours.median - floor.median, 8)
    if peer.samples:
        verdict("part of docker exec's time", ours.median / peer.median, 0.2)


def memory() -> None:
    """PSS of everything that belongs to an idle sandbox with one bash; that of the ones which
    stand ready for the next starts is the host's, and told apart."""
    one = Series("PSS per idle sandbox with one bash", "MiB")
    ready = Series("PSS of what stands ready for the next starts", "MiB")
    alone = Series("PSS of the zygote alone", "MiB")
    with server() as atoll:
        bare = zygote_pss(atoll.host.home)
        for _ in range(POOL_SIZE):
            atoll.api.delete(f"/v1/sandboxes/{atoll.create()}", params={"wait": "true"})
        before = _settled_pss(atoll.host.home)
        alone.samples.append(bare / 1024)
        ready.samples.append((before - bare) / 1024)
        for _ in range(MEMORY_SANDBOXES):
            sandbox = atoll.create()
            answer = atoll.api.post(f"/v1/sandboxes/{sandbox}/terminals", json={"argv": ["bash"]})
            answer.raise_for_status()
        one.samples.append((_settled_pss(atoll.host.home) - before) / 1024 / MEMORY_SANDBOXES)
    table(f"memory, {MEMORY_SANDBOXES} sandboxes", one, ready, alone)
    verdict("MiB per sandbox", one.median, 8)


def _settled_pss(home: Path) -> float:
    """The same once every start and end is over and all have fallen idle: the mean of the
    seconds in which the control plane looks at each of them once more."""
    time.sleep(IDLE_SECONDS + 3)
    samples = []
    for _ in range(MEMORY_SECONDS):
        time.sleep(1)
        samples.append(zygote_pss(home))
    return sum(samples) / len(samples)


def agent() -> None:
    """What an installed agent (8 MiB of it) adds to a create."""
    shell, with_agent = Series("create until ready: shell"), Series("create until ready: codex")
    with server() as atoll:
        programs = atoll.host.home / "agents" / "codex" / "0.171.0" / "bin"
        programs.mkdir(parents=True)
        (programs / "codex").write_text("#!/bin/sh\n")
        (programs / "codex").chmod(0o755)
        (programs.parent / "large").write_bytes(bytes(8 << 20))
        for n in range(CREATES + 3):
            for series in (shell, with_agent):
                started = time.perf_counter()
                sandbox = atoll.create(agent=series.name.rpartition(" ")[2])
                if n >= 3:
                    series.samples.append(milliseconds(started))
                atoll.api.delete(f"/v1/sandboxes/{sandbox}", params={"wait": "true"})
    table("an installed agent", shell, with_agent)
    verdict("ms that it adds", with_agent.median - shell.median, 20)


def restart() -> None:
    """A restarted control plane until all of 100 sandboxes answer again."""
    took = Series(f"start → all of {CROWD} reachable", "s")
    first = Series("start → the API answers", "s")
    with server() as atoll:
        crowd = _crowd(atoll)
        for _ in range(3):
            atoll.host.kill()
            started = time.perf_counter()
            atoll.start_again()
            first.samples.append(milliseconds(started) / 1000)
            waiting = set(crowd)
            while waiting:
                for sandbox in list(waiting):
                    if atoll.api.get(f"/v1/sandboxes/{sandbox}/terminals").status_code == 200:
                        waiting.discard(sandbox)
            took.samples.append(milliseconds(started) / 1000)
    table("restart of the control plane", first, took)
    verdict("seconds", took.median, 3)


def _crowd(atoll: Server) -> list[str]:
    made: list[str] = []

    def some(count: int) -> None:
        for _ in range(count):
            made.append(atoll.create())

    workers = [threading.Thread(target=some, args=(CROWD // 4,)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return made


BENCHMARKS: dict[str, Callable[[], None]] = {
    "create": create,
    "exec": exec_true,
    "memory": memory,
    "sleep": sleep,
    "pools": pools,
    "snapshots": snapshots,
    "prebuilds": prebuilds,
    "contents": contents,
    "agent": agent,
    "restart": restart,
    "broker": broker,
    "docker": docker_wall,
    "redaction": redaction,
    "link": link,
    "route": route,
    "terminals": terminals,
    "terminal-memory": terminal_memory,
    "neighbour": neighbour,
    "cli": cli,
    "attach": attach,
    "page": page,
    "dashboard": dashboard,
    "status": status,
    "changes": changes,
    "review": review,
    "events": events,
    "list": listing,
    "bus": bus,
    "surface": surface,
    "replicas": replicas,
    "fanout": fanout,
    "workers": workers,
    "mcp": mcp,
    "sftp": sftp,
    "ssh": ssh,
}


def main(names: list[str]) -> None:
    """Run the named ones, or all."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise SystemExit(
            f"bench: no benchmark called {unknown[0]}; there are {', '.join(BENCHMARKS)}"
        )
    for name in names or BENCHMARKS:
        BENCHMARKS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
