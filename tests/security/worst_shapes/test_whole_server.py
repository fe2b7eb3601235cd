"""What clients hold open, leave unread or have a sandbox say, against a whole server with a real
runtime: `/healthz` is asked meanwhile, and the server's and the kernel's memory are read.

`probe.py` asks from a process of its own; what anybody waits for the processor does not count.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.terminals.test_turns import guest
from tests.peers.api import Api, api_of
from tests.security.worst_shapes import floods, wire_shapes
from tests.security.worst_shapes.outside import OutsideWatch, watched_from_outside
from tests.security.worst_shapes.watch import MOST_MIB, TRIES, _answered, _spoken, request

MIB = 1024 * 1024
HELD = 100
"""The connections that hold up to a MiB each: more than all clients together may."""

UNREAD = 200
OUTPUT = 48 * MIB


@dataclass
class Scene:
    """A server with a sandbox, the headers of everybody, and a watch."""

    server: TestServer
    api: Api
    watch: OutsideWatch
    box: str
    terminal: str
    roles: Mapping[str, list[str]]
    faults: list[str] = field(default_factory=list)

    def check(self, name: str, act: Callable[[], object]) -> None:
        """Note what was wrong with how `/healthz` was answered while something was done. The
        kernel's memory is everybody's, and a collection of garbage takes time, too: these have to
        be seen at each try."""
        found: list[str] = []
        for number in range(TRIES):
            self.watch.begin()
            act()
            seen = self.watch.end()
            found = seen.faults(name)
            if not found or (number == 0 and seen.grown > MOST_MIB):
                break
        self.faults += found


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with test_server() as server, api_of(server) as api:
        box = api.create(name="box")["sandbox_id"]
        terminal = api.terminal(box, "cat")
        guests = {name: guest(api, server, "box", name) for name in ("looker",)}
        roles = {
            name: [f"{one}: {value}" for one, value in told.items()]
            for name, told in guests.items()
        }
        roles |= {"nobody": [], "member": [f"Authorization: Bearer {member_of(api)}"]}
        roles["owner"] = [f"Authorization: Bearer {server.token}"]
        pid = json.loads(server.note.read_text())["pid"]
        with watched_from_outside(server.url, pid) as watch:
            yield Scene(server, api, watch, box, terminal, roles)


def member_of(api: Api) -> str:
    """Make a member, and return its token."""
    api.call("POST", "/v1/organizations", json={"slug": "acme"})
    made = api.call("POST", "/v1/organizations/acme/service-accounts", json={"name": "mel"})
    account = made["member_id"]
    return str(api.call("POST", "/auth/pat", json={"name": "mel", "account": account})["token"])


@pytest.mark.slow
def test_nothing_that_clients_hold_fills_the_memory(scene: Scene) -> None:
    url, roles = scene.server.url, scene.roles
    scene.faults.clear()

    def hold_bodies(role: str, target: str) -> None:
        with floods.held(url, floods.half_body(target, roles[role], MIB - 1), HELD):
            floods.settle(1)

    def hold_messages(role: str, target: str) -> None:
        with floods.opened(url, target, roles[role], HELD) as links:
            floods.send_each(links, floods.half_message(MIB - 1))
            floods.settle(1)

    for role, target in (("nobody", "/auth/login"), ("member", "/v1/sandboxes")):
        scene.check(f"bodies of {role} without an end", partial(hold_bodies, role, target))
    cards = f"/v1/sandboxes/{scene.box}/terminals/{scene.terminal}/cards"
    for role, target in (("looker", cards), ("member", "/v1/events/stream")):
        scene.check(f"messages of {role} without an end", partial(hold_messages, role, target))
    assert scene.faults == []


def test_output_of_commands_passes_through(scene: Scene) -> None:
    scene.faults.clear()
    words = f"head -c {OUTPUT} /dev/zero"
    body = json.dumps({"shell": words, "max_output_bytes": OUTPUT}).encode()
    run = request("POST", f"/v1/sandboxes/{scene.box}/exec", scene.roles["owner"], body)
    scene.check("a command of much output", partial(_answered, scene.server.url, run))
    assert scene.faults == []


def test_clients_that_read_nothing_cost_little(scene: Scene) -> None:
    scene.faults.clear()

    def hold_answers(role: str) -> None:
        asked = request("GET", "/openapi.json", scene.roles[role])
        with floods.held(scene.server.url, asked, UNREAD):
            floods.settle(0.5)

    for role in ("nobody", "member"):
        scene.check(f"answers that {role} does not read", partial(hold_answers, role))
    assert scene.faults == []


@pytest.mark.slow
def test_frames_of_guests_keep_nobody_waiting(scene: Scene) -> None:
    scene.faults.clear()
    cards = f"/v1/sandboxes/{scene.box}/terminals/{scene.terminal}/cards"
    targets = {"looker": cards, "member": "/v1/events/stream"}
    for shape, data in wire_shapes.frames():
        for role, target in targets.items():
            speak = partial(_spoken, scene.server.url, target, scene.roles[role], [data])
            scene.check(f"{shape} of {role}", speak)
    assert scene.faults == []
