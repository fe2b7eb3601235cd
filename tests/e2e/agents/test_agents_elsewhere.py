"""Real agents on other machines, of a host, of a vendor and of QEMU: they work through the broker,
over the link."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from atoll.domain.agents.registry import find
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import KEY, World, first_here, forgotten, run, sandbox_for, world
from tests.e2e.agents.test_agents import assert_policy_is_read_only, prompt
from tests.e2e.walls import test_microvm
from tests.e2e.walls.test_openshell import PROFILE as POLICY
from tests.e2e.walls.test_openshell import SECRET as POLICY_SECRET
from tests.e2e.walls.test_openshell import settings as policy_settings
from tests.e2e.walls.test_ssh import NOT_HERE, add_host
from tests.peers.api import api_of
from tests.peers.canary import LEAVE_MARK, MARK, assert_nowhere, files_with, memory_holds
from tests.peers.clouds.cloud import EACH, Cloud
from tests.peers.clouds.machine import missing
from tests.peers.clouds.openshell import KEY as GATEWAY_KEY
from tests.peers.clouds.openshell import OpenShellPeer, openshell_peer
from tests.peers.machines import microvm
from tests.peers.machines.ssh_server import SshServer, throwaway_ssh_server

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def box() -> Iterator[SshServer]:
    with throwaway_ssh_server() as running:
        yield running


@pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)
@first_here("claude-code", "codex")
async def test_agent_finishes_a_task_on_another_machine(
    agent: str,
    box: SshServer,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    async with world(KEY, config='extensions = ["namespaces", "ssh"]\n') as w:
        await asyncio.to_thread(provide_agent, w.server, agent)
        with api_of(w.server) as api:
            await asyncio.to_thread(add_host, api, box)
        sandbox = await finish_a_task(w, agent, repository, "far")
        await assert_policy_is_read_only(w, sandbox, agent)
        assert_nowhere(box.home, box.processes(), KEY.encode())


@pytest.fixture(scope="module", params=EACH)
def cloud(request: pytest.FixtureRequest) -> Cloud:
    found: Cloud = request.param
    return found


@pytest.fixture(scope="module")
def peer(cloud: Cloud) -> Iterator[Any]:
    with cloud.serve() as running:
        yield running


@pytest.mark.slow
@pytest.mark.skipif(bool(missing()), reason=str(missing()))
@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_agent_finishes_a_task_on_a_rented_machine(
    agent: str,
    cloud: Cloud,
    peer: Any,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    async with world(KEY, config=cloud.settings(peer)) as w:
        await asyncio.to_thread(provide_agent, w.server, agent)
        for path, body in (
            ("profiles/profile.cloud", cloud.profile),
            ("secrets/CLOUD", cloud.secret),
        ):
            assert (await w.api.put(f"/v1/{path}", json=body)).is_success
        await finish_a_task(w, agent, repository, "cloud")
        (sold,) = peer.live
        assert sold.machine is not None
        machine = sold.machine
        assert_nowhere(machine.home, machine.processes(), KEY.encode(), cloud.canary)
        assert not peer.faults.holds(KEY)
        await forgotten(w)
        assert peer.live == []


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(microvm.missing()), reason=microvm.missing())
@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_agent_finishes_a_task_in_a_machine_of_its_own(
    agent: str,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    async with world(KEY, config=test_microvm.CONFIG) as w:
        home = w.server.home
        await asyncio.to_thread(microvm.home_with_image, home)
        await asyncio.to_thread(provide_agent, w.server, agent)
        body = {**test_microvm.PROFILE, "resources": {"memory_mb": 2048}}
        assert (await w.api.put("/v1/profiles/profile.vm", json=body)).is_success
        sandbox = await finish_a_task(w, agent, repository, "vm", seconds=220)
        qemu = microvm.qemu_of(home, sandbox)
        assert memory_holds(qemu, MARK.encode())
        assert not memory_holds(qemu, KEY.encode())
        for folder in ("vms", "vm-disks"):
            assert files_with(home / folder, KEY.encode()) == []
        await forgotten(w)
        assert list((home / "vms").iterdir()) == []


@pytest.fixture(scope="module")
def gateway() -> Iterator[OpenShellPeer]:
    with openshell_peer() as running:
        yield running


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.skipif(bool(missing()), reason=str(missing()))
@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_agent_finishes_a_task_under_a_policy(
    agent: str,
    gateway: OpenShellPeer,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    async with world(KEY, config=policy_settings(gateway)) as w:
        await asyncio.to_thread(provide_agent, w.server, agent)
        for path, body in (("profiles/profile.policy", POLICY), ("secrets/O", POLICY_SECRET)):
            assert (await w.api.put(f"/v1/{path}", json=body)).is_success
        await finish_a_task(w, agent, repository, "policy")
        (made,) = gateway.live
        assert made.machine is not None
        needles = (KEY.encode(), GATEWAY_KEY.encode())
        assert_nowhere(made.machine.home, made.machine.processes(), *needles)
        assert not gateway.faults.holds(KEY)
        await forgotten(w)
        assert gateway.live == []


async def finish_a_task(
    w: World, agent: str, repository: Path, profile: str, *, seconds: int = 120
) -> str:
    """Have an agent write a file there, by the model behind the broker; returns the sandbox."""
    sandbox = await sandbox_for(w, agent, repository, "--profile", profile)
    words = prompt(agent, "echo written by an agent > made.txt")
    code, said = await run(w, sandbox, *find(agent).task_argv, words, timeout=seconds)
    assert code == 0, said.decode()
    code, text = await run(w, sandbox, "cat", "made.txt")
    assert (code, text) == (0, b"written by an agent\n")
    assert w.model.requests
    assert not w.model.rejected
    opened = await w.api.post(f"/v1/sandboxes/{sandbox}/terminals", json={"agent": agent})
    assert opened.status_code == 201, opened.text
    assert await run(w, sandbox, "sh", "-c", LEAVE_MARK) == (0, b"")
    return sandbox
