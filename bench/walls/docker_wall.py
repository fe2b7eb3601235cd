"""The second wall beside Docker itself: create, exec, and what a pool saves.

Everything is asked of one daemon in turns, so that its moods fall on both sides.
"""

import asyncio
import json
import time
from contextlib import closing

from atoll.adapters.extensions.docker.engine import Engine
from atoll.adapters.extensions.docker.settings import DEFAULT_HOST
from bench.figures import Series, ratio, table, verdict
from bench.peers import Docker, milliseconds
from bench.server import Server, server
from bench.walls.docker_peer import docker_peer
from bench.walls.pools import create_at_once, fill

CREATES = 15
CROWD = 20
EXECS = 60
WARM_UP = 2
PROFILE = """
id: profile.bench
version: "1.0.0"
extension: ext.docker
image: {image}
"""


def docker_wall() -> None:
    """create → first output and exec on `ext.docker`, beside `docker run` and `docker exec`."""
    with docker_peer() as host, closing(Docker(host)) as docker:
        if host is None or not docker.here:
            print("\nthe Docker wall: no Docker daemon here, not measured")
            return
        address = host or DEFAULT_HOST
        env = {"ATOLL_EXTENSIONS": "namespaces,docker", "ATOLL_DOCKER_HOST": address}
        with server(env, profile=PROFILE.format(image=docker.image)) as atoll:
            _create(atoll, docker, address)
            _exec(atoll, docker)
            _create_at_once(atoll)


def _create(atoll: Server, docker: Docker, address: str) -> None:
    ours, peer = Series("atoll on docker: create, then output"), Series("docker run --rm … true")
    ready = Series("  of which: create until ready")
    made, started = Series("the Engine alone: create"), Series("the Engine alone: start")
    no_engine = Series("atoll on namespaces: the same")
    for n in range(CREATES + WARM_UP):
        ready_ms, ours_ms = _sandbox(atoll, "bench")
        bare_ms = _sandbox(atoll, "shell")[1]
        peer_ms, engine_ms = docker.run(), asyncio.run(_engine(address, docker.image))
        if n >= WARM_UP:
            ours.samples.append(ours_ms)
            ready.samples.append(ready_ms)
            peer.samples.append(peer_ms)
            made.samples.append(engine_ms[0])
            started.samples.append(engine_ms[1])
            no_engine.samples.append(bare_ms)
    table(
        "the Docker wall: create → first command output",
        *(ours, ready, made, started, no_engine, peer),
    )
    verdict("times docker run", ours.median / peer.median, 1.5)


def _create_at_once(atoll: Server) -> None:
    without, within = Series("without a pool"), Series("from a pool")
    without.samples += create_at_once(atoll, "bench", CROWD)
    fill(atoll, "bench", CROWD)
    within.samples += create_at_once(atoll, "bench", CROWD)
    atoll.api.delete("/v1/pools/bench").raise_for_status()
    table(f"{CROWD} creates at once until ready", without, within)
    ratio("from a pool, of those without", within.median / without.median)


def _sandbox(atoll: Server, profile: str) -> tuple[float, float]:
    """One sandbox, and gone again: ms until it is ready, and until its first output."""
    begun = time.perf_counter()
    sandbox = atoll.create(profile=profile)
    ready = milliseconds(begun)
    assert atoll.run(sandbox, "/usr/bin/echo", "x")["exit_code"] == 0
    output = milliseconds(begun)
    atoll.api.delete(f"/v1/sandboxes/{sandbox}", params={"wait": "true"})
    return ready, output


async def _engine(address: str, image: str) -> tuple[float, float]:
    """The Engine's own time to create and to start a container without a network, in ms."""
    engine = Engine(address)
    body = {
        "Image": image,
        "Cmd": ["/usr/bin/sleep", "60"],
        "HostConfig": {"NetworkMode": "none", "LogConfig": {"Type": "none"}},
    }
    try:
        await engine.version()
        begun = time.perf_counter()
        name = (await engine.create("atoll-bench-bare", json.dumps(body).encode())).id
        made = milliseconds(begun)
        begun = time.perf_counter()
        await engine.start(name)
        started = milliseconds(begun)
        await engine.remove(name)
    finally:
        await engine.close()
    return made, started


def _exec(atoll: Server, docker: Docker) -> None:
    ours, peer = Series("atoll on docker: exec true"), Series("docker exec true")
    sandbox = atoll.create(profile="bench")
    for n in range(EXECS + WARM_UP):
        begun = time.perf_counter()
        assert atoll.run(sandbox, "/usr/bin/true")["exit_code"] == 0
        ours_ms, peer_ms = milliseconds(begun), docker.exec()
        if n >= WARM_UP:
            ours.samples.append(ours_ms)
            peer.samples.append(peer_ms)
    table("the Docker wall: exec true", ours, peer)
    verdict("part of docker exec's time", ours.median / peer.median, 0.2)
