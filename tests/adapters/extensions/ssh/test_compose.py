"""`ext.compose-ssh` against a real sshd and a real Engine, by the compose that is installed."""

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from platform import machine
from typing import Any

import pytest

from atoll.adapters.extensions.docker.extension import Docker
from atoll.adapters.extensions.docker.extension import Settings as DockerSettings
from atoll.adapters.extensions.ssh.backend import FindHosts
from atoll.adapters.extensions.ssh.compose.backend import ComposeBackend
from atoll.adapters.extensions.ssh.compose.command import Compose, find_compose
from atoll.adapters.extensions.ssh.machines import ssh_places
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.domain.errors import AtollError, Invalid, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Extension, Handle, Provision
from atoll.testing.contracts.extensions.extension import ExtensionContract
from atoll.testing.contracts.extensions.reachable import AGENT, Another, ReachableContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.adapters.extensions.ssh.stack_seen import Expected
from tests.peers.docker_daemon import IMAGE, DockerDaemon, docker_daemon, why_not
from tests.peers.far.sides import NO_COMPOSE, hosts_of
from tests.peers.machines.ssh_server import SshServer, missing, throwaway_ssh_server

NOT_HERE = missing() or why_not() or NO_COMPOSE
pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE),
    pytest.mark.timeout(300),
]

FILE = f"""\
services:
  agent: {{image: "{IMAGE}"}}
"""
STACK = f"""\
services:
  web:
    image: {IMAGE}
    command: python3 -m http.server --directory /data 8000
    init: true
    environment: {{PRICE: "5$$"}}
    volumes: [files:/data]
    networks: {{back: {{aliases: [front]}}}}
    healthcheck: {{test: [CMD, "true"], interval: 1s}}
    mem_limit: 128m
  agent:
    image: {IMAGE}
    networks: [back]
    depends_on: [web]
networks: {{back: }}
volumes: {{files: }}
"""


@dataclass
class Place:
    rig: ZygoteRig
    box: SshServer
    daemon: DockerDaemon
    find_hosts: FindHosts


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with (
        zygote_rig(real=True) as rig,
        docker_daemon() as daemon,
        throwaway_ssh_server(daemon.folder / "d.sock") as box,
    ):
        yield Place(rig, box, daemon, hosts_of(rig.home.root, box))


def made(place: Place) -> LinkedExtension:
    home = place.rig.home.root
    backend = ComposeBackend(place.find_hosts, ssh_places(home), "test", machine())
    return LinkedExtension(LinkedSettings(home, agents=(AGENT,)), backend)


@pytest.fixture
async def extension(place: Place) -> AsyncIterator[LinkedExtension]:
    extension = made(place)
    yield extension
    await extension.close()


def request(text: str, generation: int = 1, sandbox_id: SandboxId | None = None) -> Provision:
    plain = ExtensionContract().request(generation, sandbox_id)
    return replace(plain, host="box", compose_file=text)


@pytest.mark.slow
class TestComposeSsh(ReachableContract):
    """The whole contract takes minutes: what stacks add is tested in every run, below."""

    @pytest.fixture
    def another(self, place: Place) -> Another:
        self.root = place.rig.home.root
        return lambda: made(place)

    def home_in(self, folder: Path) -> Path:
        return self.root

    def request(self, generation: int = 1, sandbox_id: SandboxId | None = None) -> Provision:
        plain = super().request(generation, sandbox_id)
        return replace(plain, host="box", compose_file=FILE)

    async def kill(self, extension: Extension, handle: Handle) -> None:
        assert isinstance(extension, LinkedExtension)
        answer = await extension._link.request(wire.ListBoxes(), seconds=5)
        assert isinstance(answer, wire.Listed)
        pid = next(b.runtime_pid for b in answer.boxes if b.sandbox_id == handle.sandbox_id)
        os.kill(pid, signal.SIGKILL)


def inspected(place: Place, sandbox: str) -> dict[str, Any]:
    """What the daemon runs for a sandbox, by service."""
    ids = place.daemon.run("ps", "-aq", "--filter", f"label=atoll.sandbox={sandbox}").split()
    found = json.loads(place.daemon.run("inspect", *ids)) if ids else []
    return {each["Config"]["Labels"]["atoll.service"]: each for each in found}


@dataclass(frozen=True)
class Recorded(Compose):
    """The program, with what it was given."""

    documents: dict[str, Any] = field(default_factory=dict)

    async def up(self, engine: Path, project: str, document: str) -> None:
        self.documents[project] = json.loads(document)
        await Compose.up(self, engine, project, document)


def plain(place: Place) -> Any:
    """What the daemon says of a container that names nothing but the command it must have."""
    (found,) = json.loads(
        place.daemon.run("inspect", made := place.daemon.run("create", IMAGE, "true"))
    )
    place.daemon.run("rm", made)
    found["Config"]["Cmd"] = None
    return found


def of_project(place: Place, kind: str, project: str) -> dict[str, Any]:
    """All networks or volumes of a project, by name."""
    mine = ("--filter", f"label=com.docker.compose.project={project}")
    names = place.daemon.run(kind, "ls", "-q", *mine).split()
    found = json.loads(place.daemon.run(kind, "inspect", *names)) if names else []
    return {each["Name"]: each for each in found}


def own_labels(seen: dict[str, Any]) -> dict[str, str]:
    return {key: value for key, value in seen["Labels"].items() if key.startswith("atoll.")}


async def test_daemon_runs_what_our_document_says(place: Place, extension: LinkedExtension) -> None:
    backend = extension.backend
    assert isinstance(backend, ComposeBackend)
    program = await find_compose()
    backend._compose = recorded = Recorded(program.words)
    wanted = request(STACK)
    handle = await extension.provision(wanted)
    await extension.wait_ready(handle)
    try:
        ((project, document),) = recorded.documents.items()
        expected = Expected(document, project, plain(place))
        found = inspected(place, wanted.sandbox_id)
        assert found.keys() == document["services"].keys() == {"web", "agent"}
        for name, each in found.items():
            assert expected.differences(name, each) == []
        networks = of_project(place, "network", project)
        assert networks.keys() == {f"{project}_{name}" for name in document["networks"]}
        host_has = subprocess.run(["ip", "-4", "addr"], capture_output=True, check=True)
        for name, each in networks.items():
            said = document["networks"][name.removeprefix(f"{project}_")]
            assert each["Internal"] is said["internal"] is True
            assert (each["Driver"], each["Options"]) == (said["driver"], said["driver_opts"])
            assert own_labels(each) == said["labels"]
            assert f"inet {each['IPAM']['Config'][0]['Gateway']}/".encode() not in host_has.stdout
        volumes = of_project(place, "volume", project)
        assert volumes.keys() == {f"{project}_{name}" for name in document["volumes"]}
        for name, each in volumes.items():
            assert (each["Driver"], each["Options"]) == ("local", None)
            labels = document["volumes"][name.removeprefix(f"{project}_")]["labels"]
            assert own_labels(each) == labels
    finally:
        report = await extension.teardown(handle, keep_state=False)
    assert not report.leftovers
    assert inspected(place, wanted.sandbox_id) == {}
    for kind in ("network", "volume"):
        assert of_project(place, kind, project) == {}
    assert not list(place.box.home.glob(f".atoll/*/boxes/{wanted.sandbox_id}"))


async def test_docker_and_stacks_of_one_home_on_one_engine_end_only_their_own(
    place: Place, extension: LinkedExtension
) -> None:
    settings = DockerSettings(
        place.rig.home.socket, "test", place.rig.home.root / "i", place.daemon.host
    )
    docker = Docker(settings)
    small = Profile(id="profile.small", version="1.0.0", extension="ext.docker", image=IMAGE)
    stack, alone = request(STACK), replace(ExtensionContract().request(), profile=small)
    # As versions before labels of their own left them behind: whose they are nobody can tell.
    old_stack = place.daemon.run(
        *("run", "-d", "-l", "atoll.home=test", "-l", "atoll.sandbox=sb_old"),
        *("-l", "atoll.service=db", IMAGE, "sleep", "60"),
    )
    old_box = place.daemon.run(
        *("run", "-d", "-l", "atoll.home=test", "-l", "atoll.sandbox=sb_gone"),
        *(IMAGE, "sleep", "60"),
    )
    try:
        far, near = await extension.provision(stack), await docker.provision(alone)
        await docker.survey()
        assert inspected(place, stack.sandbox_id).keys() == {"web", "agent"}
        running = place.daemon.run("ps", "-q", "--no-trunc").split()
        assert old_stack in running and old_box in running
        second = await extension.provision(other := request(STACK))
        await extension.teardown(second, keep_state=False)
        assert inspected(place, other.sandbox_id) == {}
        assert [each.sandbox_id for each in await docker.survey()] == [near.sandbox_id]
        await docker.teardown(near, keep_state=False)
        assert inspected(place, stack.sandbox_id).keys() == {"web", "agent"}
        await extension.teardown(far, keep_state=False)
    finally:
        place.daemon.run("rm", "-f", old_stack, old_box)
        await docker.close()


async def test_start_removes_ended_stacks_of_its_own_installation_alone(
    place: Place, extension: LinkedExtension
) -> None:
    usual = ("run", "-d", "-l", "atoll.home=test", "-l", "atoll.service=agent")
    ended = {
        who: place.daemon.run(*usual, "-l", f"atoll.sandbox=sb_{who}", *words, IMAGE, "true")
        for who, words in {
            "mine": ("-l", "atoll.installation="),
            "other": ("-l", "atoll.installation=other"),
            "older": (),
        }.items()
    }
    place.daemon.run("wait", *ended.values())
    handle = await extension.provision(request(FILE))
    try:
        there = place.daemon.run("ps", "-aq", "--no-trunc").split()
        assert [who for who, found in ended.items() if found in there] == ["other", "older"]
    finally:
        await extension.teardown(handle, keep_state=False)
        place.daemon.run("rm", "-f", ended["other"], ended["older"])


async def test_end_of_the_agents_container_is_reported_with_the_words_of_the_engine(
    place: Place, extension: LinkedExtension
) -> None:
    wanted = request(STACK)
    handle = await extension.provision(wanted)
    await extension.wait_ready(handle)
    place.daemon.run("kill", inspected(place, wanted.sandbox_id)["agent"]["Id"])
    async with asyncio.timeout(60):
        ended = await anext(extension.ended())
    assert ended.sandbox_id == wanted.sandbox_id
    assert ended.reason.startswith("host box: the container of the agent ended: Exited (137)")
    again = await extension.provision(request(STACK, 2, wanted.sandbox_id))
    await extension.wait_ready(again)
    await extension.teardown(again, keep_state=False)


async def test_host_that_is_away_is_named_and_not_its_engine(
    place: Place, extension: LinkedExtension
) -> None:
    handle = await extension.provision(request(FILE))
    await extension.wait_ready(handle)

    async def trouble(words: str) -> None:
        async with asyncio.timeout(60):
            while words not in (extension.trouble_of(handle.sandbox_id) or ""):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    place.box.stop()
    subprocess.run(["pkill", "-KILL", "-x", "sshd", "-U", str(place.box.uid)], check=False)
    await trouble("host box cannot be reached: ")
    with pytest.raises(Unavailable, match=r"^host box cannot be reached: "):
        await extension.provision(request(FILE))
    place.box.start()
    await extension.teardown(handle, keep_state=False)


async def test_calls_to_an_engine_share_one_connection(
    place: Place, extension: LinkedExtension
) -> None:
    before = (place.box.folder / "log").read_text().count("Accepted publickey")
    wanted = request(STACK)
    handle = await extension.provision(wanted)
    made = (place.box.folder / "log").read_text().count("Accepted publickey") - before
    await extension.teardown(handle, keep_state=False)
    # One for commands, two or three for the Engine, the link's, and what was sent.
    assert made <= 7


REACH = """
import socket, sys
port = int(sys.argv[1])
for host in sys.argv[2:]:
    try:
        socket.create_connection((host, port), 2)
        print("open", host)
    except OSError:
        pass
try:
    print("name", socket.getaddrinfo("example.com", 80))
except OSError:
    pass
print(len(socket.getaddrinfo("agent", 80)) > 0)
"""


async def test_service_reaches_neither_host_nor_doors(
    place: Place, extension: LinkedExtension
) -> None:
    wanted = request(STACK)
    handle = await extension.provision(wanted)
    await extension.wait_ready(handle)
    web = inspected(place, wanted.sandbox_id)["web"]
    (network,) = web["NetworkSettings"]["Networks"].values()
    addresses = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True)
    with socket.create_server(("", 0)) as listener:
        port = str(listener.getsockname()[1])
        hosts = (network["Gateway"], *addresses.stdout.split())
        said = place.daemon.run("exec", web["Id"], "python3", "-c", REACH, port, *hosts)
        assert said == "True"
        doors = place.daemon.run("exec", web["Id"], "python3", "-c", REACH, "8082", "agent")
        assert doors == "True"
    await extension.teardown(handle, keep_state=False)


async def test_stop_and_start_keep_volumes(place: Place, extension: LinkedExtension) -> None:
    wanted = request(STACK)
    handle = await extension.provision(wanted)
    web = inspected(place, wanted.sandbox_id)["web"]["Id"]
    place.daemon.run("exec", web, "sh", "-c", "echo kept > /data/file")
    await extension.teardown(handle, keep_state=True)
    assert inspected(place, wanted.sandbox_id) == {}
    again = await extension.provision(request(STACK, 2, wanted.sandbox_id))
    await extension.wait_ready(again)
    web = inspected(place, wanted.sandbox_id)["web"]["Id"]
    assert place.daemon.run("exec", web, "cat", "/data/file") == "kept"
    report = await extension.teardown(again, keep_state=False)
    assert "1 volumes on host box" in report.removed


@pytest.mark.parametrize(
    "line",
    ["privileged: true", "volumes: ['/:/host']", "pid: host", "environment: {A: '${HOME}'}"],
)
async def test_file_with_what_is_not_allowed_starts_nothing(
    place: Place, extension: LinkedExtension, line: str
) -> None:
    wanted = request(f"services:\n  web:\n    image: {IMAGE}\n    {line}\n")
    with pytest.raises(Invalid, match="Line 4, ") as refused:
        await extension.provision(wanted)
    assert refused.value.field == "inputs.compose_bundle_ref"
    assert inspected(place, wanted.sandbox_id) == {}


async def test_sandbox_without_a_file_or_an_image_is_refused(extension: LinkedExtension) -> None:
    with pytest.raises(Invalid, match="compose_bundle_ref"):
        await extension.provision(replace(request(FILE), compose_file=None))
    with pytest.raises(Invalid, match="no image"):
        await extension.provision(request(f"services: {{web: {{image: '{IMAGE}'}}}}"))


async def test_services_that_do_not_start_are_told_and_removed(
    place: Place, extension: LinkedExtension
) -> None:
    wanted = request(
        f"services: {{agent: {{image: '{IMAGE}'}}, web: {{image: 'nobody/nothing:1'}}}}"
    )
    with pytest.raises(AtollError, match="did not start"):
        await extension.provision(wanted)
    # Also those that had come up, and without a teardown.
    assert inspected(place, wanted.sandbox_id) == {}
    handle = Handle(wanted.sandbox_id, 1, extension.name, (), "box")
    assert not (await extension.teardown(handle, keep_state=False)).leftovers
    assert inspected(place, wanted.sandbox_id) == {}
