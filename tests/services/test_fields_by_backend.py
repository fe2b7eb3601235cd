"""Every field of a create and every key of a profile, on every wall: acted on, or refused.

What a wall is asked for is compared with and without each field, as each backend asks for its own,
with what a machine without rights leaves of it. A request that only the start refuses is dropped,
too. A field that changes what one wall is asked for and not what another is must stand in
what that other one ignores: a sandbox that names it is refused there before anything starts. A new
field that a backend would drop therefore fails here.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from atoll.adapters.extensions.docker import extension as docker
from atoll.adapters.extensions.docker.container import body, plan_of
from atoll.adapters.extensions.docker.engine import Info
from atoll.adapters.extensions.docker.extension import Docker
from atoll.adapters.extensions.docker.extension import Settings as DockerSettings
from atoll.adapters.extensions.docker.images import ResolvedImage
from atoll.adapters.extensions.e2b.entry import wares_of
from atoll.adapters.extensions.e2b.settings import E2bSettings
from atoll.adapters.extensions.in_memory import InMemory
from atoll.adapters.extensions.microvm import backend as microvm
from atoll.adapters.extensions.microvm.backend import _hardware
from atoll.adapters.extensions.microvm.image import GuestImage, TrialRecord
from atoll.adapters.extensions.microvm.start_archive import start_archive
from atoll.adapters.extensions.namespaces.extension import Namespaces
from atoll.adapters.extensions.namespaces.extension import Settings as WallSettings
from atoll.adapters.extensions.openshell import entry as openshell
from atoll.adapters.extensions.openshell.policy import spec_of
from atoll.adapters.extensions.ssh.backend import SshPlaces
from atoll.adapters.extensions.ssh.client import SshHost
from atoll.adapters.extensions.ssh.compose import backend as compose
from atoll.adapters.extensions.ssh.compose.backend import ComposeBackend
from atoll.adapters.extensions.ssh.entry import make as make_ssh
from atoll.adapters.linked import extension as linked
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.linked.wall import wall_of
from atoll.adapters.rented.vendor import Order
from atoll.domain.compose.document import FarFiles, document
from atoll.domain.compose.reading import read_stack
from atoll.domain.errors import AtollError, Invalid, NoRoute
from atoll.domain.files.host_mount import HostMount
from atoll.domain.ids import SandboxId
from atoll.domain.interior.remote import INIT, RemoteMachine
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.demands import DEMANDS
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.domain.wall.isolation import Isolation
from atoll.ports import Capabilities, Provision
from atoll.ports.extension import ExtensionSetup
from atoll.ports.far import FarBox, FarPlace, LinkTerms
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.zygote import messages as wire
from atoll.zygote.disk.engine_mounts import EngineMounts
from atoll.zygote.disk.storage import Storage
from atoll.zygote.host.home import Home
from atoll.zygote.wall.cgroups import Groups
from tests.adapters.extensions.docker.test_container import AWAITED
from tests.services.scene import scene
from tests.services.test_fields_act import (
    ACTING,
    DESCRIBING,
    ELSEWHERE,
    HEAD,
    REQUESTED,
    asked_of_the_wall,
    with_key,
)

Ignored = tuple[tuple[str, str], ...]
COMPOSE = "services: {agent: {image: a}, web: {image: nginx}}"
#: A field of a backend's list, and a recipe and a create that name it.
NAMING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    **{key: (with_key({**HEAD, **more}, key, value), {}) for key, (value, more) in ACTING.items()},
    **{field: (recipe, request) for field, (request, recipe) in REQUESTED.items()},
    "placement": (with_key(HEAD, "placement.prefer", ["local"]), {}),
    "mounts": (HEAD, {"mounts": (HostMount("/data", "/data", grant="0" * 32),)}),
}
#: Acted on before a wall is asked for anything, and refused where no candidate has it.
PLACED = {
    *("extension", "isolation.level", "placement.prefer", "placement.fallback", "route", "host"),
    *(f"route.{one}" for one in ("strategy", "extension", "region", "gpu", "execution_mode")),
    *("route.max_cost_per_hour", "route.require_isolation", "route.max_ready_ms"),
    *("route.min_success", "route.accept_open_network"),
}
_AT_THE_START = {
    "safety.debug": "tests/adapters/extensions/link: the filter is chosen at the start",
}
#: Read by the backend in steps that this comparison does not run.
IN_OTHER_STEPS = {"ext.ssh": _AT_THE_START, "ext.e2b": _AT_THE_START}


AGENTS = tuple(wire.Agent(name, (name,)) for name in ("codex", "shell"))
NOWHERE = Path("/nowhere")
DOCKER = Docker(DockerSettings(NOWHERE, "t", NOWHERE, agents=AGENTS))
SSH = make_ssh(ExtensionSetup(NOWHERE, "t", agents=AGENTS))
#: What a zygote says that was started without rights, on a machine that gives it no cgroup.
WITHOUT_RIGHTS = wire.Reported(
    *(False, 1, "0.11.0", "c"),
    degraded=(
        *Groups((), frozenset()).degraded(),
        *Storage(Home(NOWHERE), False, EngineMounts(Home(NOWHERE))).degraded(),
    ),
    overlays=False,
)
UNBOUND = Info(memory_limit=False, cpu_cfs_quota=False, pids_limit=False)
STACK = read_stack("services: {agent: {image: a}, web: {image: nginx}}")
KEY = LinkTerms(b"", 1)


def _of_docker(request: Provision) -> object:
    image = ResolvedImage("sha256:1")
    folders = tuple(f"/h/mounts/{number}" for number, _ in enumerate(request.host_mounts))
    awaited = msgspec.structs.replace(AWAITED, folders=folders)
    plan = plan_of(request, image, awaited, info=Info(), labels=(), pooled=False)
    start = DOCKER._start(request, image, pooled=False)
    return msgspec.to_builtins(start), json.loads(body(plan))


def _of_docker_unbound(request: Provision) -> object:
    """Without root, and with a daemon whose kernel bounds nothing."""
    start, container = msgspec.json.decode(msgspec.json.encode(_of_docker(request)))
    del start["limits"]["workspace_bytes"], start["mounts"]
    host = container["HostConfig"]
    for key in ("Memory", "MemorySwap", "NanoCpus", "PidsLimit"):
        host.pop(key, None)
    host["Mounts"] = [one for one in host["Mounts"] if not one["Source"].startswith("/h/mounts/")]
    return start, container


def _of_link(request: Provision) -> object:
    """The runtime of this machine, for a sandbox of another one."""
    assert isinstance(SSH, LinkedExtension)
    isolation = Isolation(IsolationLevel.CONTAINER, "bubblewrap")
    place = FarPlace(FarBox(request.sandbox_id, request.generation), isolation, (INIT,))
    return msgspec.to_builtins(SSH._start(request, place, "00"))


def _of_far_wall(request: Provision) -> object:
    return _of_link(request), wall_of(request, "/f", "/p", ())


def _of_microvm(request: Provision) -> object:
    image = GuestImage(NOWHERE, TrialRecord("", "no KVM", ()))
    archive = start_archive(request, KEY, RemoteMachine(), (), Path(__file__))
    disk = request.profile.resources.workspace_mb
    return _of_link(request), archive, _hardware(request, image, ()), disk


def _of_compose(request: Provision) -> object:
    backend = ComposeBackend(_no_hosts, SshPlaces(NOWHERE, NOWHERE), "t", "x86_64")
    terms = backend._terms(request, KEY)
    return _of_link(request), document(STACK, terms, FarFiles("/b", "/p", 1000))


def _of_openshell(request: Provision) -> object:
    order = Order("image", (), 60, "token", request.profile)
    spec = spec_of(order, "").SerializeToString(deterministic=True)
    return _of_link(request), spec, request.profile.resources.files


async def _no_hosts() -> dict[str, SshHost]:
    return {}


def _of_namespaces(request: Provision) -> object:
    asked = asked_of_the_wall(request)
    return {key: value for key, value in asked.items() if key != "compose"}


def _of_namespaces_unbound(request: Provision) -> object:
    """What is left of a start without rights, and without a cgroup or an overlay."""
    asked = asked_of_the_wall(request)
    for limit in ("memory_bytes", "cpu_millis", "workspace_bytes"):
        del asked["limits"][limit]
    return {key: value for key, value in asked.items() if key not in {"compose", "sudo", "overlay"}}


WALLS: dict[str, Callable[[Provision], object]] = {
    "ext.namespaces": _of_namespaces,
    "ext.namespaces, unbound": _of_namespaces_unbound,
    "ext.docker": _of_docker,
    "ext.docker, unbound": _of_docker_unbound,
    "ext.ssh": _of_far_wall,
    "ext.e2b": _of_far_wall,
    "ext.compose-ssh": _of_compose,
    "ext.microvm": _of_microvm,
    "ext.openshell": _of_openshell,
}


def _unbound(extension: Namespaces | Docker) -> Ignored:
    """What an extension ignores that asked a zygote without rights, and a daemon without bounds."""
    extension._link._reported = WITHOUT_RIGHTS
    if isinstance(extension, Docker):
        extension._info = UNBOUND
        return (*docker.IGNORED, *extension._unkept())
    return extension.capabilities().ignores


IGNORES: dict[str, Ignored] = {
    "ext.namespaces": (),
    "ext.namespaces, unbound": _unbound(Namespaces(WallSettings(NOWHERE))),
    "ext.docker": docker.IGNORED,
    "ext.docker, unbound": _unbound(Docker(DockerSettings(NOWHERE, "t", NOWHERE))),
    "ext.ssh": SSH.capabilities().ignores,
    "ext.e2b": (*linked.IGNORED, *wares_of(E2bSettings()).ignores),
    "ext.compose-ssh": (*linked.IGNORED, *compose.IGNORED),
    "ext.microvm": (*linked.IGNORED, *microvm.IGNORED),
    "ext.openshell": (*linked.IGNORED, *openshell.IGNORED),
}


def _ignored(name: str) -> set[str]:
    """Return the fields that a backend refuses, as its candidates do."""
    return {field for field, _ in IGNORES[name]}


def _acts(wall: Callable[[Provision], object], without: Provision, named: Provision) -> bool:
    """Whether a wall is asked for something else by a field, and not refused by its own code: that
    comes after the create was accepted."""
    try:
        return wall(without) != wall(named)
    except Invalid:
        return False


async def _provision(document: dict[str, Any], **request: Any) -> Provision | None:
    """Return what a backend is asked for by a create; None where that is refused. Ids and names
    that every sandbox has of its own are the same."""
    async with scene() as s:
        await s.profiles.save(LOCAL_PERSON, "acting", json.dumps(document))
        wanted = CreateSandbox(**{"profile": "acting", **request})
        try:
            made = await s.sandboxes.create(LOCAL_PERSON, wanted)
        except AtollError:
            return None
        await s.sandboxes.wait(LOCAL_PERSON, made.id, timeout_seconds=30)
        asked = [one for one in s.extension.provisioned if one.sandbox_id == made.id]
        if not asked:
            return None
        env = tuple(pair for pair in asked[-1].env if pair[0] != "ATOLL_SANDBOX_ID")
        return replace(asked[-1], sandbox_id=SandboxId("sb_same"), name="same", env=env)


def test_every_list_of_a_backend_names_fields_that_are_judged() -> None:
    judged = {*NAMING, *DESCRIBING, *ELSEWHERE}
    assert judged >= DEMANDS
    for name in WALLS:
        assert _ignored(name) <= DEMANDS


@pytest.mark.parametrize("field", sorted(NAMING.keys() - PLACED - {"placement", "profile", "name"}))
async def test_field_is_acted_on_or_refused_by_every_backend(field: str) -> None:
    document, request = NAMING[field]
    around = {**HEAD, **ACTING[field][1]} if field in ACTING else document
    without = await _provision(around)
    named = await _provision(document, **request)
    if without is None or named is None:
        return  # refused, or acted on by what is prepared before
    changed = {name: _acts(wall, without, named) for name, wall in WALLS.items()}
    if not any(changed.values()):
        return  # the control plane or the runtime acts on it, the same behind every wall
    for name, acts in changed.items():
        elsewhere = IN_OTHER_STEPS.get(name, {})
        assert acts or field in _ignored(name) or field in elsewhere, f"{name} drops {field}"


@pytest.mark.parametrize("field", sorted(DEMANDS))
async def test_field_that_a_backend_ignores_is_refused_before_anything_starts(field: str) -> None:
    document, request = NAMING[field]
    able = Capabilities(
        IsolationLevel.NONE, compose=True, ignores=((field, "it has no such part"),)
    )
    document = {**document, "extension": "ext.lacking"}
    async with scene(others=(InMemory(called="ext.lacking", able=able),)) as s:
        await s.profiles.save(LOCAL_PERSON, "acting", json.dumps(document))
        s.workspaces.files["compose.yaml"] = COMPOSE.encode()
        with pytest.raises(NoRoute) as refused:
            await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="acting", **request))
        assert f"it cannot act on {field}: it has no such part" in refused.value.message
        (place,) = refused.value.candidates
        assert place.extension == "ext.lacking"
        assert (await s.sandboxes.list(LOCAL_PERSON)).sandboxes == ()
