"""`python -m tests.peers.far.reports [NAME…]`: check backends as far as this machine has them.

For each one the other side is started (sshd, a Docker daemon, a vendor's peer), then
`atoll extension check` runs in a home that knows it, and the report goes to `docs/reports`. Needs
root. `scripts/backends` calls it, and writes the page.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from atoll.testing.server import atoll_command
from atoll.testing.zygote_rig import zygote_rig
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import install
from tests.peers.clouds.cloud import CLOUDS, DAYTONA, OPENSHELL, Cloud
from tests.peers.docker_daemon import IMAGE, docker_daemon
from tests.peers.far.sides import hosts_of
from tests.peers.machines.microvm import home_with_image
from tests.peers.machines.ssh_server import throwaway_ssh_server
from tests.places import ROOT

REPORTS = ROOT / "docs" / "reports"
DAYTONA_SELF = replace(DAYTONA, name="daytona-self")
COMPOSE_FILE = f"services:\n  agent: {{image: '{IMAGE}'}}\n"


@dataclass(frozen=True, slots=True)
class Terms:
    """What a check of one backend is given: words, and variables."""

    words: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


Opened = Callable[[Path], AbstractContextManager[Terms]]
"""Starts the other side of a home."""


@contextmanager
def _here(_home: Path) -> Iterator[Terms]:
    yield Terms()


@contextmanager
def _docker(home: Path) -> Iterator[Terms]:
    with docker_daemon() as daemon:
        (home / "config.toml").write_text(f'docker_host = "{daemon.host}"\n')
        yield Terms(("--image", IMAGE))


@contextmanager
def _ssh(home: Path) -> Iterator[Terms]:
    with throwaway_ssh_server() as box:
        hosts_of(home, box)
        yield Terms(("--host", box.address))


@contextmanager
def _compose(home: Path) -> Iterator[Terms]:
    with docker_daemon() as daemon, throwaway_ssh_server(daemon.folder / "d.sock") as box:
        hosts_of(home, box)
        file = home / "compose.yaml"
        file.write_text(COMPOSE_FILE)
        yield Terms(("--compose", str(file), "--host", box.address))


@contextmanager
def _microvm(home: Path) -> Iterator[Terms]:
    home_with_image(home)
    yield Terms()


@contextmanager
def _rented(cloud: Cloud, home: Path) -> Iterator[Terms]:
    with cloud.serve() as peer:
        (home / "config.toml").write_text(cloud.settings(peer))
        yield Terms(("--against", "peer"), {"ATOLL_CHECK_KEY": cloud.key})


BACKENDS: Mapping[str, Opened] = {
    "namespaces": _here,
    "docker": _docker,
    "ssh": _ssh,
    "compose-ssh": _compose,
    "microvm": _microvm,
    **{cloud.name: partial(_rented, cloud) for cloud in (*CLOUDS, OPENSHELL, DAYTONA_SELF)},
}


def check(name: str) -> bool:
    """Check one backend; return whether it passed. What it ran against is told as before."""
    place = REPORTS / f"{name}.json"
    before = msgspec.json.decode(place.read_bytes()) if place.exists() else {}
    with zygote_rig(real=True) as rig:
        home = rig.home.root
        install(Home(home))
        with BACKENDS[name](home) as terms:
            argv = [
                *(atoll_command(), "extension", "check", name, "--live"),
                *("--home", str(home), "--report", str(place)),
                *("--note", before.get("note", ""), *terms.words),
            ]
            done = subprocess.run(argv, env={**os.environ, **terms.env}, check=False)
    (REPORTS / f"{name}.log").unlink(missing_ok=True)
    return done.returncode == 0


def main(names: list[str]) -> int:
    """Check these backends, or all; return 1 when one failed."""
    failed = [name for name in names or sorted(BACKENDS) if not check(name)]
    for name in failed:
        print(f"{name}: its check failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
