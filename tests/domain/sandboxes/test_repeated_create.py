from dataclasses import fields, replace
from typing import Any

import pytest

from atoll.domain.files.host_mount import HostMount
from atoll.domain.routes.decision import RouteRequest
from atoll.domain.routes.policy import Constraints, RouteOptions
from atoll.domain.sandboxes.create import grant
from atoll.domain.sandboxes.project import ProjectRequest
from atoll.domain.sandboxes.repeated_create import other_input, other_origin
from atoll.domain.sandboxes.sandbox import (
    Consumer,
    CreateSandbox,
    Inputs,
    LifecycleWebhook,
    RepoRequest,
    SeedRequest,
    SetupMetadata,
)
from atoll.domain.sandboxes.task import TaskRequest
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.routes import Strategy
from atoll.wire.words.sandboxes import Access, AgentMode, Scope, WorkspaceMode
from atoll.wire.words.terminals import Strictness
from tests.domain.sandboxes.test_create import AROUND, KEY, PROFILE
from tests.domain.sandboxes.test_project import DECIDED

PLACED = RouteRequest(Strategy.PREFER_SELF_HOSTED)


HOOK = LifecycleWebhook("https://hooks.example/in", "SIGNING")

OTHERS: list[tuple[dict[str, Any], str | None]] = [
    ({}, None),
    ({"repos": (RepoRequest("https://github.com/o/r.git", branch="fix"),)}, None),
    ({"repos": (RepoRequest("o/other", branch="fix"),)}, "repos"),
    ({"repos": (RepoRequest("o/r", branch="other"),)}, "repos"),
    ({"repos": (RepoRequest("o/r", from_branch="other"),)}, "repos"),
    ({"repos": (RepoRequest("o/r", sparse=("docs",)),)}, "repos"),
    ({"repos": (RepoRequest("local/r", key=KEY),)}, "repos"),
    ({"repos": (RepoRequest("o/r", path="below"),)}, "repos"),
    ({"repos": (RepoRequest("o/r"),)}, None),
    ({"repos": ()}, None),
    ({"inputs": Inputs(repo_ref="o/r")}, None),
    ({"repos": (), "inputs": Inputs(repo_ref="o/other")}, "inputs.repo_ref"),
    ({"repos": (), "inputs": Inputs(repo_ref="o/r@other")}, "inputs.repo_ref"),
    ({"inputs": Inputs(compose_bundle_ref="other")}, "inputs.compose_bundle_ref"),
    ({"agent": "codex"}, "agent"),
    ({"agent_catalogue": ("codex",)}, "agent_catalogue"),
    ({"agent_catalogue": ()}, "agent_catalogue"),
    ({"env": (("A", "b"),)}, "env"),
    ({"access": Access.READ_ONLY}, "workspace.access"),
    ({"access": PROFILE.workspace.access}, None),
    ({"workspace_mode": WorkspaceMode.MIRROR}, "workspace.mode"),
    ({"network_mode": NetworkMode.NONE}, "network_mode"),
    ({"softlock": Strictness.STRICT}, "softlock"),
    ({"scope": Scope.SHARED}, "scope"),
    ({"profile_version": "9.9.9"}, "profile_version"),
    ({"name": "other"}, "name"),
    ({"cwd": "below"}, "cwd"),
    ({"cwd": "/workspace"}, None),
    ({"ttl_seconds": 61}, "ttl"),
    ({"host": "box"}, "host"),
    ({"seed": SeedRequest("snap_1")}, "seed"),
    ({"copies": ("a:b",)}, "copies"),
    ({"lifecycle_webhook": HOOK}, "lifecycle_webhook.url"),
    ({"setup_metadata": SetupMetadata(instructions="Read.")}, "setup_metadata.instructions"),
    ({"setup_metadata": SetupMetadata(secret_refs=("A",))}, "setup_metadata.secret_refs"),
    ({"task": TaskRequest("Go.")}, "prompt"),
    ({"project": ProjectRequest("0" * 64)}, "project"),
    ({"route": RouteOptions(extension="docker")}, "route.extension"),
    ({"route": RouteOptions(strategy=Strategy.LOWEST_COST)}, "route.strategy"),
    ({"route": RouteOptions(constraints=Constraints(region="eu"))}, "route"),
    ({"route": RouteOptions(accept_open_network=True)}, "route.accept_open_network"),
    ({"mounts": (HostMount("/data", "/data"),)}, "mounts"),
]


def test_every_field_of_a_repeated_create_is_held_against_what_stands() -> None:
    compared = {name for more, field in OTHERS if field is not None for name in more}
    # The consumer and the profile are what the sandbox is found by.
    found_by = {"profile", "consumer"}
    unasked = {"usual_softlock"}
    assert {one.name for one in fields(CreateSandbox)} - compared == found_by | unasked


@pytest.mark.parametrize(("more", "field"), OTHERS)
def test_other_inputs_are_told_from_the_same_ones(more: dict[str, Any], field: str | None) -> None:
    request = CreateSandbox(repos=(RepoRequest("o/r", branch="fix"),))
    made = grant(request, PROFILE, AROUND)
    assert other_input(replace(request, **more), made, PLACED) == field
    local = CreateSandbox(repos=(RepoRequest("local/r", key=KEY),))
    assert other_input(local, grant(local, PROFILE, AROUND), PLACED) is None


DATA, SRV = HostMount("/data", "/data", grant="a" * 32), HostMount("/srv", "/srv", grant="b" * 32)
MACHINE, TUI = TaskRequest("Go.", AgentMode.MACHINE, asks=True), TaskRequest("Go.")
DIGEST = "0" * 64
#: What was named at first, what is named by the repetition, and the field that differs.
REPEATED: list[tuple[dict[str, Any], dict[str, Any], str | None]] = [
    ({"lifecycle_webhook": HOOK}, {"lifecycle_webhook": HOOK}, None),
    ({"lifecycle_webhook": HOOK}, {}, None),
    (
        {"lifecycle_webhook": HOOK},
        {"lifecycle_webhook": replace(HOOK, url="https://hooks.example/other")},
        "lifecycle_webhook.url",
    ),
    (
        {"lifecycle_webhook": HOOK},
        {"lifecycle_webhook": replace(HOOK, secret_ref="OTHER")},
        "lifecycle_webhook.secret_ref",
    ),
    ({"mounts": (DATA, SRV)}, {"mounts": (replace(SRV, grant="c" * 32), DATA)}, None),
    ({"mounts": (DATA,)}, {"mounts": (replace(DATA, writable=True),)}, "mounts"),
    ({"mounts": (DATA,)}, {"mounts": (replace(DATA, private=True),)}, "mounts"),
    ({"agent": "claude"}, {"agent": "claude-code"}, None),
    ({"agent": "claude-code@2.1.0"}, {"agent": "claude"}, None),
    ({"agent": "claude-code@2.1.0"}, {"agent": "claude@2.1.0"}, None),
    ({"agent": "claude-code@2.1.0"}, {"agent": "claude-code@2.1.1"}, "agent"),
    ({"agent": "claude-code"}, {"agent": "claude-code@2.1.1"}, "agent"),
    (
        {"agent_catalogue": ("codex", "qwen-code")},
        {"agent_catalogue": ("qwen-code", "codex")},
        None,
    ),
    ({"agent_catalogue": ("codex",)}, {"agent_catalogue": ("qwen-code",)}, "agent_catalogue"),
    ({"copies": ("a:b", "c:d")}, {"copies": ("c:d", "a:b")}, None),
    ({"task": TUI}, {"task": MACHINE}, "task.mode"),
    ({"task": MACHINE}, {"task": TUI}, None),
    ({"task": MACHINE}, {"task": TaskRequest("Go.", asks=False)}, "task.permissions"),
    ({"task": MACHINE}, {"task": TaskRequest("Go.", AgentMode.TUI)}, "task.mode"),
    ({"agent": "acp:kimi", "task": TUI}, {"task": TaskRequest("Go.", AgentMode.TUI)}, None),
    ({"project": ProjectRequest(DIGEST)}, {"project": ProjectRequest(DIGEST, False)}, None),
    (
        {"project": ProjectRequest(DIGEST)},
        {"project": ProjectRequest(DIGEST, True)},
        "project.setup",
    ),
    ({"project": ProjectRequest(DIGEST, True)}, {"project": ProjectRequest(DIGEST)}, None),
    ({}, {"usual_softlock": Strictness.STRICT}, None),
]


@pytest.mark.parametrize(("first", "again", "field"), REPEATED)
def test_repeated_create_in_other_words_is_the_same(
    first: dict[str, Any], again: dict[str, Any], field: str | None
) -> None:
    request = CreateSandbox(**{"agent": "codex", **first})
    made = grant(request, PROFILE, replace(AROUND, project=replace(DECIDED, digest=DIGEST)))
    assert other_input(CreateSandbox(**again), made, PLACED) == field


def test_profile_or_consumer_of_a_repeated_request_is_named_where_it_differs() -> None:
    request = CreateSandbox(profile="x")
    made = grant(request, PROFILE, AROUND)
    assert other_origin(request, made) is None
    assert other_origin(replace(request, profile="y"), made) == "profile"
    assert other_origin(replace(request, consumer=Consumer(harness="n")), made) == "consumer"
