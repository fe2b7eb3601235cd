"""Every key of a profile acts: with it and without it, something outside the record differs.

Storing and showing a key is not acting. What is compared is what leaves the control plane (what the
zygote is asked for, each runtime's calls, layers), when the sandbox ends, and what is refused.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct, convert
from msgspec.structs import fields

from atoll.adapters.extensions.in_memory import InMemory
from atoll.adapters.extensions.namespaces.extension import Namespaces
from atoll.adapters.extensions.namespaces.extension import Settings as WallSettings
from atoll.adapters.safety.layers import SafetyFolders
from atoll.domain.errors import AtollError, Invalid
from atoll.domain.files.host_mount import HostMount
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.schema import profile_document, read_profile
from atoll.domain.routes.policy import Constraints, RouteOptions
from atoll.domain.sandboxes.project import ProjectRequest
from atoll.domain.sandboxes.sandbox import (
    Consumer,
    CreateSandbox,
    Inputs,
    RepoRequest,
    SetupMetadata,
)
from atoll.domain.sandboxes.task import TaskRequest
from atoll.ports import Capabilities, Provision
from atoll.surfaces.http.sandboxes.requests import mounts_of
from atoll.wire.api.hosts.routes import MountBody
from atoll.wire.api.sandboxes.requests import CreateBody
from atoll.wire.contract.agents import OpenAgentBody
from atoll.wire.words.events import ActorKind
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.routes import ExecutionMode, Strategy
from atoll.wire.words.sandboxes import Access, AgentMode, Scope, State, WorkspaceMode
from atoll.wire.words.terminals import Strictness
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.zygote import messages as wire
from tests.peers.contract import AGENT
from tests.services.provisioning.test_resumption import STARTED, started, stopped
from tests.services.sandboxes.test_sandboxes import OTHER
from tests.services.scene import REACHABILITY, Scene, scene

HEAD: dict[str, Any] = {
    "id": "profile.acting",
    "version": "1.0.0",
    "extension": "ext.in-memory",
    "isolation": {"level": "none"},
}
REPO = "https://example.org/o/r"

#: Key, and a value that must change something; with what else both recipes hold.
ACTING: dict[str, tuple[object, dict[str, Any]]] = {
    "reachability.tunnel": ("a", {}),
    "reachability.identity": ("a", {}),
    "extension": ("ext.elsewhere", {}),
    "root": ("overlay", {}),
    "isolation.level": ("microvm", {}),
    "network.egress": (["a.example"], {}),
    "network.mode": ("none", {}),
    "network.host_ports": ([5432], {"network": {"mode": "host-only"}}),
    "network.ports": ([8443], {"network": {"mode": "full"}}),
    "network.ranges": (["10.1.0.0/16"], {"network": {"mode": "host-only"}}),
    "network.out_mb_per_hour": (5, {}),
    "network.in_mb_per_hour": (5, {}),
    "network.netlink": (3, {}),
    "safety.shell": (True, {}),
    "safety.operator": ([["git", "push"]], {}),
    "safety.sudo": ([["apt-get", "update"]], {}),
    "safety.debug": (True, {}),
    "workspace.access": ("ro", {}),
    "workspace.scope_default": ("agent", {}),
    "ttl.default": ("30m", {}),
    "ttl.max": ("5h", {}),
    "ttl.idle_reap": ("10m", {}),
    "ttl.idle_stop": ("10m", {}),
    "ttl.warning": ("10m", {}),
    "ttl.retention": ("2h", {}),
    "resources.cpu": (0.5, {}),
    "resources.memory_mb": (64, {}),
    "resources.pids": (50, {}),
    "resources.ptys": (3, {}),
    "resources.workspace_mb": (64, {}),
    "resources.files": (4096, {}),
    "setup.secret_refs": (["absent"], {}),
    "repos": ([{"repo_url": REPO}], {}),
    "agent": ("codex", {}),
    "agent_catalogue": (["codex"], {}),
    "shell": (["/bin/sh"], {}),
    "env": ({"A": "1"}, {}),
    "recording": ("always", {}),
    "softlock": ("strict", {}),
    "setup.instructions": ("Read first.", {}),
    "placement.prefer": (["elsewhere"], {}),
    "placement.fallback": (["elsewhere"], {}),
    "route": ({"constraints": {"region": "mars"}}, {}),
}

#: Keys that describe a recipe and promise no act.
DESCRIBING = {
    "id", "version", "description",
    "metadata.cost_class", "metadata.latency_class", "metadata.labels",
}  # fmt: skip

#: Keys whose one value is all there is, or that act where this scene has nothing.
ELSEWHERE = {
    "network.default": "below: it takes `deny` alone",
    "image": "tests/security/wall/test_roots.py: another root",
    "workspace.mode": "domain/sandboxes/test_create.py, tests/e2e: a mirror is filled or refused",
    "resume_agents": "below: it acts on a start after a stop",
    "idle_action": "domain/sandboxes/steps/test_sleep.py, tests/e2e/waiting: what idleness brings",
    "wake": "domain/sandboxes/steps/test_sleep.py, tests/services/sandboxes: who wakes it",
    "seed": "tests/surfaces/http/sandboxes/test_snapshots.py: what begins as it, and for whom",
    "checkpoint": "tests/services/snapshots, tests/e2e/waiting/test_snapshots.py: what is taken",
    "mcp.enabled": "tests/adapters/zygote/test_start.py, tests/services/people, tests/surfaces/mcp",
    "mcp.namespaces": "tests/surfaces/mcp/test_inside.py: tools are listed and called",
    "mcp.tools": "tests/services/tools/test_consent.py, tests/surfaces/mcp/test_inside.py",
    "mcp.watch": "tests/services/tools/test_waking.py, tests/e2e/agents/tools/test_agent_waking.py",
    "mcp.children": "tests/services/tools/test_children.py, tests/surfaces/mcp/test_children.py",
    "mcp.transport": "domain/profile/test_tools.py, tests/e2e/agents/tools/test_agent_tools.py",
}

#: Keys nothing acts on yet, and the issue that owes it.
OWED: dict[str, int] = {}


def _leaves(document: dict[str, Any], above: str = "") -> list[str]:
    found: list[str] = []
    for key, value in document.items():
        nested = isinstance(value, dict) and value and key != "env"
        found += _leaves(value, f"{above}{key}.") if nested else [f"{above}{key}"]
    return found


def with_key(document: dict[str, Any], key: str, value: object) -> dict[str, Any]:
    name, _, rest = key.partition(".")
    inner = document.get(name, {})
    return {**document, name: with_key(inner, rest, value) if rest else value}


def asked_of_the_wall(request: Provision) -> dict[str, Any]:
    """What the zygote would be asked for; ids and names are each sandbox's own."""
    known = tuple(wire.Agent(name, (name,)) for name in ("codex", "shell"))
    wall = Namespaces(WallSettings(socket=Path("/nowhere"), agents=known))
    told: dict[str, Any] = msgspec.to_builtins(wall._start(request, None))
    told["env"] = [pair for pair in told["env"] if pair[0] != "ATOLL_SANDBOX_ID"]
    own = {k: v for k, v in told.items() if k not in ("sandbox_id", "hostname")}
    return {**own, "compose": request.compose_file}


async def _life(s: Scene, sandbox_id: str) -> list[str]:
    """The states it goes through by itself as time passes; nobody uses it."""
    states = []
    for _ in range(4 * 12):
        s.runtime.idle_seconds += 1800
        s.clock.turn(1800)
        for _ in range(20):
            await asyncio.sleep(0.001)
        states.append((await s.sandboxes.get(LOCAL_PERSON, sandbox_id)).state.value)
    return states


async def _effects(document: dict[str, Any], **request: Any) -> dict[str, Any]:
    """What a sandbox of this recipe makes others do."""
    wanted = CreateSandbox(**{"profile": "acting", **request})
    able = Capabilities(IsolationLevel.NONE, closes_network=False)
    async with scene(others=(InMemory(called="ext.open", able=able),)) as s:
        s.runtime.answers["GET", "/agents"] = (200, {"agents": []})
        s.runtime.answers["POST", "/agents"] = (201, AGENT)
        profile = await s.profiles.save(LOCAL_PERSON, "acting", json.dumps(document))
        safety = SafetyFolders(Path("/nowhere"))
        effects: dict[str, Any] = {"shims": sorted(safety.env_for(profile.safety))}
        try:
            made = await s.sandboxes.create(LOCAL_PERSON, wanted)
        except AtollError as error:
            return {**effects, "refused": error.message}
        ready = await s.sandboxes.wait(LOCAL_PERSON, made.id, timeout_seconds=30)
        effects["state"] = (ready.state, ready.reason if ready.state is State.FAILED else None)
        effects["agent"] = await _outcome(_agent_opened(s, made.id))
        requests = [one for one in s.extension.provisioned if one.sandbox_id == made.id]
        effects["wall"] = [asked_of_the_wall(one) for one in requests]
        effects["calls"] = [
            (call.method, call.path, msgspec.json.decode(call.body) if call.body else None)
            for call in s.runtime.calls
            if isinstance(call.body, bytes)
        ]
        named = ready.profile.reachability
        effects["reached_by"] = (REACHABILITY.tunnel_of(named), REACHABILITY.identity_of(named))
        effects["laid_out"] = [repo.repo_url for repo in ready.repos]
        effects["span"] = str(ready.expires_at - ready.created_at)
        again = await _outcome(s.sandboxes.create(LOCAL_PERSON, wanted))
        effects["again"] = again if isinstance(again, str) else again.id == made.id
        plain = await _outcome(s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="acting")))
        effects["plain"] = plain if isinstance(plain, str) else plain.id == made.id
        effects["strangers"] = [
            one.id == made.id for one in (await s.sandboxes.list(OTHER)).sandboxes
        ]
        return effects


_seen: dict[tuple[object, str], Any] = {}


async def _once(look: Callable[[dict[str, Any]], Awaitable[Any]], document: dict[str, Any]) -> Any:
    """Look at a recipe that is compared with many others once, and return what was seen."""
    which = (look, json.dumps(document, sort_keys=True))
    if which not in _seen:
        _seen[which] = await look(document)
    return _seen[which]


async def _agent_opened(s: Scene, sandbox_id: str) -> None:
    """An agent's start; what the runtime is asked for is among its calls."""
    s.runtime.answers["POST", "/agents"] = (201, AGENT)
    await s.agents.open(LOCAL_PERSON, sandbox_id, OpenAgentBody(agent="codex"))


async def _outcome(act: Any) -> Any:
    try:
        return await act
    except AtollError as error:
        return error.message


def test_every_key_of_a_profile_is_judged() -> None:
    keys = set(_leaves(profile_document(read_profile(json.dumps(HEAD)))))
    judged = ACTING.keys() | DESCRIBING | ELSEWHERE.keys() | OWED.keys()
    assert keys - judged == set(), "say what acts on these, or which issue owes it"
    assert judged - keys == set(), "these are no keys of a profile any more"


@pytest.mark.parametrize("key", [key for key in ACTING if not key.startswith("ttl.")])
async def test_key_of_a_profile_changes_what_happens(key: str) -> None:
    value, around = ACTING[key]
    without = await _once(_effects, {**HEAD, **around})
    acting = await _effects(with_key({**HEAD, **around}, key, value))
    assert acting != without, f"nothing acts on {key}"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("metadata.labels", {"a": "b"}),
        ("description", "Words."),
    ],
)
async def test_key_that_nothing_acts_on_changes_nothing(key: str, value: object) -> None:
    """A control of the comparison; a key that begins to act leaves its list."""
    assert await _effects(with_key(HEAD, key, value)) == await _effects(HEAD)
    assert await _effects(HEAD) == await _once(_effects, HEAD)


def _route(**options: Any) -> dict[str, Any]:
    return {"route": RouteOptions(**options)}


def _keeping(**limits: Any) -> dict[str, Any]:
    return _route(constraints=Constraints(**limits))


AGENTS = {**HEAD, "workspace": {"scope_default": "agent"}}
#: Field of a create, and what is wished; with what else both recipes hold.
REQUESTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "profile": ({"profile": "bare"}, HEAD),
    "profile_version": ({"profile_version": "2.0.0"}, HEAD),
    "name": ({"name": "chosen"}, HEAD),
    "agent": ({"agent": "codex"}, HEAD),
    "agent_catalogue": ({"agent_catalogue": ("codex",)}, HEAD),
    "scope": ({"scope": Scope.SHARED}, HEAD),
    "workspace.access": ({"access": Access.READ_ONLY}, HEAD),
    "repos": ({"repos": (RepoRequest(REPO),)}, HEAD),
    "mounts": ({"mounts": (HostMount("/data", "/data"),)}, HEAD),
    "cwd": ({"cwd": "/workspace/below"}, HEAD),
    "inputs.repo_ref": ({"inputs": Inputs(repo_ref=REPO)}, HEAD),
    "inputs.compose_bundle_ref": (
        {"inputs": Inputs(compose_bundle_ref="repo:compose.yaml")},
        {**HEAD, "repos": [{"repo_url": REPO}]},
    ),
    "inputs.compose_bundle": (
        {"inputs": Inputs(compose_bundle="services: {agent: {image: a}, web: {image: nginx}}")},
        HEAD,
    ),
    "ttl": ({"ttl_seconds": 60}, HEAD),
    "network_mode": ({"network_mode": NetworkMode.NONE}, HEAD),
    "env": ({"env": (("A", "1"),)}, HEAD),
    "softlock": ({"softlock": Strictness.STRICT}, HEAD),
    "workspace.mode": (
        {"workspace_mode": WorkspaceMode.MIRROR}, {**HEAD, "repos": [{"repo_url": REPO}]},
    ),
    "setup_metadata.instructions": (
        {"setup_metadata": SetupMetadata(instructions="Read first.")}, HEAD,
    ),
    "setup_metadata.instructions_ref": (
        {"setup_metadata": SetupMetadata(instructions_ref="repo:a.md")},
        {**HEAD, "repos": [{"repo_url": REPO}]},
    ),
    "setup_metadata.secret_refs": (
        {"setup_metadata": SetupMetadata(secret_refs=("absent",))}, HEAD,
    ),
    "prompt": ({"agent": "codex", "task": TaskRequest("Fix it.")}, {**HEAD, "agent": "codex"}),
    "task.mode": ({"task": TaskRequest("Go.", AgentMode.MACHINE)}, {**HEAD, "agent": "codex"}),
    "task.max_working": (
        {"task": TaskRequest("Go.", max_working=1)}, {**HEAD, "agent": "codex"},
    ),
    "task.permissions": (
        {"task": TaskRequest("Go.", AgentMode.MACHINE, asks=True)}, {**HEAD, "agent": "codex"},
    ),
    "project": (
        {"repos": (RepoRequest(REPO),), "project": ProjectRequest("0" * 64)},
        {**HEAD, "repos": [{"repo_url": REPO}]},
    ),
    "consumer.actor": ({"consumer": Consumer(ActorKind.AGENT)}, AGENTS),
    "consumer.harness": ({"consumer": Consumer(harness="h")}, AGENTS),
    "consumer.session_id": ({"consumer": Consumer(session_id="s")}, AGENTS),
    "consumer.run_id": ({"consumer": Consumer(run_id="r")}, AGENTS),
    "consumer.job_id": ({"consumer": Consumer(job_id="j")}, AGENTS),
    "host": ({"host": "elsewhere"}, HEAD),
    "route.strategy": (_route(strategy=Strategy.LOWEST_COST), HEAD),
    "route.extension": (_route(extension="ext.other"), HEAD),
    "route.max_cost_per_hour": (_keeping(max_cost_per_hour=HourlyCost(1)), HEAD),
    "route.require_isolation": (_keeping(require_isolation=IsolationLevel.MICROVM), HEAD),
    "route.region": (_keeping(region="mars"), HEAD),
    "route.gpu": (_keeping(gpu="any"), HEAD),
    "route.max_ready_ms": (_keeping(max_ready_ms=1), HEAD),
    "route.min_success": (_keeping(min_success=1.0), HEAD),
    "route.execution_mode": (_keeping(execution_mode=ExecutionMode.DESKTOP), HEAD),
    "route.accept_open_network": (
        _route(accept_open_network=True), {**HEAD, "extension": "ext.open"},
    ),
}  # fmt: skip
#: Fields of a create that nothing acts on yet, and the issue that owes it.
OWED_REQUESTS: dict[str, int] = {}
#: Written down for the caller, who acts on it: the command line copies before it opens a terminal,
#: and a pull request that is opened later answers the issue.
CALLERS = {"copies", "task.group", "task.issue"}
#: Acted on by the worker of webhooks: tests/services/webhooks/test_lifecycle_webhooks.py.
BY_WEBHOOKS = {"lifecycle_webhook"}
#: Acted on where there are disks: `tests/e2e/waiting/test_snapshots.py`.
ON_DISKS = {"seed"}


def _request_fields(struct: type[Struct], above: str = "") -> set[str]:
    found: set[str] = set()
    for field in fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            found |= _request_fields(field.type, f"{above}{field.name}.")
        else:
            found.add(f"{above}{field.name}")
    return found


def test_every_field_of_a_create_is_judged() -> None:
    named = _request_fields(CreateBody)
    judged = REQUESTED.keys() | OWED_REQUESTS.keys() | CALLERS | ON_DISKS | BY_WEBHOOKS
    assert named - judged == set(), "say what acts on these, or which issue owes it"
    assert judged - named == set(), "these are no fields of a create any more"


@pytest.mark.parametrize("field", REQUESTED)
async def test_field_of_a_create_changes_what_happens(field: str) -> None:
    request, around = REQUESTED[field]
    with_it, without = await _effects(around, **request), await _once(_effects, around)
    assert with_it != without, f"nothing acts on {field}"


async def test_access_of_a_mount_changes_what_the_wall_is_asked_for() -> None:
    place = {"source": "/data", "target": "/data", "grant": "0" * 32}
    bodies = [convert({**place, "access": access}, MountBody) for access in ("ro", "rw")]
    read, written = [await _effects(HEAD, mounts=mounts_of((one,))) for one in bodies]
    assert read["wall"] != written["wall"]


@pytest.mark.parametrize(("default", "accepted"), [("deny", True), ("allow", False)])
def test_network_denies_by_default_and_takes_no_other_word(default: str, accepted: bool) -> None:
    document = json.dumps({**HEAD, "network": {"default": default}})
    with nullcontext() if accepted else pytest.raises(Invalid, match="deny"):
        read_profile(document)


@pytest.mark.parametrize("resume", [True, False])
async def test_resume_agents_of_a_profile_decides_whether_a_start_opens_them(resume: bool) -> None:
    async with scene() as s:
        document = json.dumps({**HEAD, "resume_agents": resume})
        await s.profiles.save(LOCAL_PERSON, "acting", document)
        box = await stopped(s, STARTED, profile="acting")
        assert bool(await started(s, box)) is resume


@pytest.mark.parametrize("key", [key for key in ACTING if key.startswith("ttl.")])
async def test_key_of_the_ttl_changes_when_a_sandbox_ends(key: str) -> None:
    value, _ = ACTING[key]
    assert await _states(with_key(HEAD, key, value)) != await _once(_states, HEAD)


async def _states(document: dict[str, Any]) -> list[str]:
    async with scene() as s:
        await s.profiles.save(LOCAL_PERSON, "acting", json.dumps(document))
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="acting"))
        await s.sandboxes.wait(LOCAL_PERSON, made.id, timeout_seconds=30)
        longest = await _outcome(s.sandboxes.extend_ttl(LOCAL_PERSON, made.id, 3600 * 24 * 2))
        most = longest if isinstance(longest, str) else str(longest.expires_at - made.created_at)
        return [most, *await _life(s, made.id)]
