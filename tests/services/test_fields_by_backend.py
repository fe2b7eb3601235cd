"""Every field of a create and every key of a profile, on three backends: acted on, or refused.

What a wall is asked for is compared with and without each field, as namespaces, docker and ssh ask
for theirs. A field that changes what one wall is asked for and not what another is must stand in
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

from atoll.adapters.extensions.docker.container import body
from atoll.adapters.extensions.docker.engine import Info
from atoll.adapters.extensions.docker.extension import IGNORED, Docker
from atoll.adapters.extensions.docker.extension import Settings as DockerSettings
from atoll.adapters.extensions.docker.images import ResolvedImage
from atoll.adapters.extensions.in_memory import InMemory
from atoll.adapters.extensions.ssh.entry import make as make_ssh
from atoll.adapters.linked.extension import LinkedExtension
from atoll.adapters.linked.wall import wall_of
from atoll.domain.errors import AtollError, NoRoute
from atoll.domain.files.host_mount import HostMount
from atoll.domain.ids import SandboxId
from atoll.domain.interior.remote import INIT
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.demands import DEMANDS
from atoll.domain.sandbox.sandbox import CreateSandbox
from atoll.domain.wall.isolation import Isolation, IsolationLevel
from atoll.ports import Capabilities, Provision
from atoll.ports.extension import ExtensionSetup
from atoll.ports.far import FarBox, FarPlace
from atoll.wire.zygote import messages as wire
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

COMPOSE = "services: {web: {image: nginx}}"
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
#: Read by the backend in steps that this comparison does not run.
IN_OTHER_STEPS = {
    "ext.ssh": {
        "safety.debug": "tests/adapters/extensions/link: the filter is chosen at the start",
    },
}


AGENTS = tuple(wire.Agent(name, (name,)) for name in ("codex", "shell"))
NOWHERE = Path("/nowhere")
DOCKER = Docker(DockerSettings(NOWHERE, "t", NOWHERE, agents=AGENTS))
SSH = make_ssh(ExtensionSetup(NOWHERE, "t", agents=AGENTS))


def _of_docker(request: Provision) -> object:
    image = ResolvedImage("sha256:1")
    folders = tuple(f"/h/mounts/{number}" for number, _ in enumerate(request.host_mounts))
    awaited = msgspec.structs.replace(AWAITED, folders=folders)
    plan = DOCKER._plan(request, image, awaited, info=Info())
    return msgspec.to_builtins(DOCKER._start(request, image)), json.loads(body(plan))


def _of_ssh(request: Provision) -> object:
    assert isinstance(SSH, LinkedExtension)
    isolation = Isolation(IsolationLevel.CONTAINER, "bubblewrap")
    place = FarPlace(FarBox(request.sandbox_id, request.generation), isolation, (INIT,))
    return msgspec.to_builtins(SSH._start(request, place, "00")), wall_of(request, "/f", "/p", ())


def _of_namespaces(request: Provision) -> object:
    asked = asked_of_the_wall(request)
    return {key: value for key, value in asked.items() if key != "compose"}


WALLS: dict[str, Callable[[Provision], object]] = {
    "ext.namespaces": _of_namespaces,
    "ext.docker": _of_docker,
    "ext.ssh": _of_ssh,
}


def _ignored(name: str) -> set[str]:
    """Return the fields that a backend refuses, as its candidates do."""
    ignored = {"ext.docker": IGNORED, "ext.ssh": SSH.capabilities().ignores}
    return {field for field, _ in ignored.get(name, ())}


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
    changed = {name: wall(without) != wall(named) for name, wall in WALLS.items()}
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
