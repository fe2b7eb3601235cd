"""Where the sandboxes of a day stand: one home, an Engine, two hosts behind cables, QEMU.

The Engine holds containers of the home (`ext.docker`), its stacks (`ext.compose-ssh`, over the
second host), and neighbours: what nobody knows, and what another home of the same path made.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from atoll.testing.server import TestServer, test_server
from atoll.zygote.host.installation import read_installation
from tests.e2e.walls.test_ssh_cuts import Cable
from tests.peers.api import Api, api_of
from tests.peers.docker_daemon import IMAGE, DockerDaemon, docker_daemon
from tests.peers.machines.microvm import home_with_image
from tests.peers.machines.ssh_server import SshServer, throwaway_ssh_server

EXTENSIONS = "namespaces,docker,ssh,compose-ssh,microvm"
STACK = f"""\
services:
  web: {{image: "{IMAGE}", command: sleep 86399, init: true}}
  agent: {{image: "{IMAGE}", depends_on: [web]}}
"""
KINDS = ("namespaces", "docker", "ssh", "compose-ssh", "microvm")
SLEEP = ("sleep", "86398")
"""What neighbours run."""


@dataclass
class Host:
    """A host behind a cable."""

    name: str
    box: SshServer
    cable: Cable
    loop: asyncio.AbstractEventLoop
    port: int

    @property
    def address(self) -> str:
        """Where Atoll reaches it."""
        return f"ssh://{self.box.user}@127.0.0.1:{self.port}"

    def unplug(self) -> None:
        """End every connection, and let none come up."""
        self.loop.call_soon_threadsafe(self.cable.unplugged.set)

    def plug(self) -> None:
        """Let connections come up again."""
        self.loop.call_soon_threadsafe(self.cable.unplugged.clear)


@dataclass
class Places:
    """Everything of a day."""

    server: TestServer
    daemon: DockerDaemon
    hosts: dict[str, Host]
    neighbours: dict[str, str] = field(default_factory=dict)

    def start_engine(self) -> None:
        """Start the Engine again, at the place where its host has it."""
        self.daemon.start()
        self.hosts["stacks"].box.restart()

    def containers(self) -> dict[str, list[str]]:
        """The containers that are there, by the sandbox they are labelled with."""
        shape = '{{.Label "atoll.sandbox"}} {{.ID}}'
        found: dict[str, list[str]] = {}
        for line in self.daemon.run("ps", "-a", "--no-trunc", "--format", shape).splitlines():
            sandbox, _, container = line.rpartition(" ")
            found.setdefault(sandbox, []).append(container)
        return found


@contextmanager
def plugged(name: str, box: SshServer) -> Iterator[Host]:
    """Put a cable before a host, served by a thread."""
    loop, ready, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    made: list[Host] = []

    async def serve() -> None:
        cable = Cable(box.port)
        async with await asyncio.start_server(cable.carry, "127.0.0.1", 0) as near:
            made.append(Host(name, box, cable, loop, near.sockets[0].getsockname()[1]))
            ready.set()
            await over.wait()
            cable.unplugged.set()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield made[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


@contextmanager
def opened() -> Iterator[Places]:
    """Start all of it, with profiles for each kind."""
    with ExitStack() as stack:
        daemon = stack.enter_context(docker_daemon())
        boxes = {
            "box": throwaway_ssh_server(),
            "stacks": throwaway_ssh_server(daemon.folder / "d.sock"),
        }
        hosts = {
            name: stack.enter_context(plugged(name, stack.enter_context(box)))
            for name, box in boxes.items()
        }
        env = {"ATOLL_EXTENSIONS": EXTENSIONS, "ATOLL_DOCKER_HOST": daemon.host}
        server = stack.enter_context(test_server(env, start=False))
        for host in hosts.values():
            stack.callback(host.plug)
        home_with_image(server.home)
        server.start()
        places = Places(server, daemon, hosts)
        with api_of(server) as api:
            _add_profiles(api)
            for host in hosts.values():
                _add_host(api, host)
        _move_in(places)
        yield places


def _add_profiles(api: Api) -> None:
    small = {"memory_mb": 256, "cpu": 1, "workspace_mb": 64}
    more: dict[str, dict[str, object]] = {
        "docker": {"image": IMAGE},
        "compose-ssh": {"placement": {"prefer": ["stacks"]}},
        "ssh": {"image": "host", "placement": {"prefer": ["box"]}},
        "microvm": {"image": "host", "resources": small},
    }
    for kind in KINDS:
        profile = {
            "id": f"profile.{kind}",
            "version": "1.0.0",
            "extension": f"ext.{kind}",
            "workspace": {"mode": "remote-canonical", "access": "rw", "scope_default": "session"},
            **more.get(kind, {}),
        }
        api.call("PUT", f"/v1/profiles/profile.{kind}", json=profile)


def _add_host(api: Api, host: Host) -> None:
    added = api.call("POST", "/v1/hosts", json={"address": host.address, "name": host.name})
    host.box.authorize(added["authorized_key"])


def _move_in(places: Places) -> None:
    """Start what is nobody's of this home, and must stay as it is."""
    tag = read_installation(places.server.home).tag
    other = "0" * 32
    labels: dict[str, dict[str, str]] = {
        "nobody": {},
        "a box of another home of this path": {
            "home": tag,
            "installation": other,
            "extension": "ext.docker",
            "sandbox": "sb_another",
            "generation": "1",
        },
        "a stack of another home of this path": {
            "home": tag,
            "installation": other,
            "extension": "ext.compose-ssh",
            "service": "agent",
            "sandbox": "sb_yetanother",
        },
    }
    for name, named in labels.items():
        words = [word for key, value in named.items() for word in ("-l", f"atoll.{key}={value}")]
        always = ("--restart", "always")
        places.neighbours[name] = places.daemon.run("run", "-d", *always, *words, IMAGE, *SLEEP)
