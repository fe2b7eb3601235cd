"""A Docker daemon to compare with: the one that is there, else one of our own for the time.

It starts and ends daemons; what is measured against them is `bench.peers`' and others'.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.peers.docker_daemon import docker_daemon, why_not


@contextmanager
def docker_peer() -> Iterator[str | None]:
    """The address of a daemon that answers (`unix://…`, or empty for the client's default);
    None where there is none and none can be started. One of our own is gone afterwards."""
    given = os.environ.get("DOCKER_HOST", "")
    if _answers(given):
        yield given
    elif why_not():
        yield None
    else:
        with docker_daemon() as daemon:
            yield daemon.host


def environment(host: str) -> dict[str, str]:
    """What the `docker` client needs to speak with `host`."""
    return {**os.environ, "DOCKER_HOST": host} if host else dict(os.environ)


def _answers(host: str) -> bool:
    try:
        asked = subprocess.run(
            ["docker", "info"], capture_output=True, check=False, env=environment(host)
        )
    except FileNotFoundError:
        return False
    return asked.returncode == 0
