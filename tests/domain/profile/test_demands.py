import pytest

from atoll.domain.profile.demands import (
    DEMANDS,
    MOUNTS,
    as_demanded,
    demands_beyond_isolation,
    demands_of,
)
from atoll.domain.profile.schema import read_profile
from atoll.domain.routes.candidate import COMPOSE_REF

HEAD = 'id: profile.x\nversion: "1.0.0"\n'


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("root: overlay\n", "root"),
        ("safety: {debug: true}\n", "safety.debug"),
        ("placement: {prefer: [box]}\n", "placement"),
        ("workspace: {access: ro}\n", "workspace.access"),
        ("workspace: {access: none}\n", "workspace.access"),
        ("resources: {cpu: 2}\n", "resources.cpu"),
        ("resources: {memory_mb: 512}\n", "resources.memory_mb"),
        ("resources: {pids: 50}\n", "resources.pids"),
        ("resources: {ptys: 3}\n", "resources.ptys"),
        ("resources: {workspace_mb: 512}\n", "resources.workspace_mb"),
        ("resources: {files: 5000}\n", "resources.files"),
    ],
)
def test_profile_demands_what_it_names(text: str, field: str) -> None:
    assert field in DEMANDS
    assert field in demands_of(read_profile(HEAD + text), {}), text
    assert field not in demands_of(read_profile(HEAD), {})


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("isolation: {level: container}\nttl: {max: 9h}\nnetwork: {egress: [npm]}\n", set()),
        ("placement: {prefer: [laptop]}\nagent: codex\nagent_catalogue: [codex]\n", set()),
        ("resources: {memory_mb: 512}\nroot: overlay\n", {"resources.memory_mb", "root"}),
        ("env: {A: b}\nrecording: always\n", {"env", "recording"}),
        (
            "network: {mode: none, out_mb_per_hour: 5}\n",
            {"network.mode", "network.out_mb_per_hour"},
        ),
        ("network: {in_mb_per_hour: 5}\n", {"network.in_mb_per_hour"}),
        ("safety: {shell: true, operator: [[git, push]]}\n", {"safety.shell", "safety.operator"}),
        (
            "setup: {instructions: Read., secret_refs: [A]}\n",
            {"setup.instructions", "setup.secret_refs"},
        ),
        (
            "reachability: {tunnel: bridge, identity: warden}\n",
            {"reachability.tunnel", "reachability.identity"},
        ),
        ("repos: [{repo_url: https://example.org/o/r}]\n", {"repos"}),
    ],
)
def test_profile_demands_more_than_the_isolation_of_a_desktop(text: str, fields: set[str]) -> None:
    assert demands_beyond_isolation(read_profile(HEAD + text)) == fields


def test_create_demands_what_has_a_value() -> None:
    profile = read_profile(HEAD)
    found = demands_of(profile, {MOUNTS: ("data",), COMPOSE_REF: None})
    assert MOUNTS in found
    assert COMPOSE_REF not in found


def test_limit_that_nobody_named_is_none() -> None:
    profile = read_profile(HEAD + "resources: {cpu: 2, memory_mb: 512}\n")
    left = as_demanded(profile, frozenset({"resources.cpu"})).resources
    assert (left.cpu, left.memory_mb) == (2, None)
