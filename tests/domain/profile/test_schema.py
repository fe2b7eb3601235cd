import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import atoll
from atoll.domain.errors import Invalid
from atoll.domain.profile.profile import CheckpointRule
from atoll.domain.profile.route import extension_name
from atoll.domain.profile.schema import (
    profile_document,
    profile_id,
    read_profile,
    version_key,
    workspace_mode,
)
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import CheckpointEnd, WorkspaceMode
from atoll.wire.words.terminals import Strictness
from atoll.wire.words.walls import IsolationLevel

HEAD = 'id: profile.x\nversion: "1.0.0"\n'
BUNDLED = sorted((Path(atoll.__file__).parent / "profiles").glob("*.yaml"))

META = """
id: profile.compose-e2e
version: "1.0.0"
extension: ext.compose-ssh
isolation:
  level: container
network:
  default: deny
  egress: []
workspace:
  mode: remote-canonical
  access: rw
  scope_default: session
ttl:
  default: 4h
  max: 24h
  idle_reap: null
resources:
  cpu: null
  memory_mb: null
setup:
  instructions: ""
  secret_refs: []
placement:
  prefer: [one]
  fallback: [two]
reachability:
  tunnel: bridge
  identity: warden
metadata:
  cost_class: self-hosted
  latency_class: standard
"""

FULL = (
    META.replace(
        "cpu: null", "cpu: 1.5\n  pids: 100\n  ptys: 4\n  workspace_mb: 100\n  files: 4096"
    )
    + """
image: registry.example/tool:1
repos:
  - repo_url: https://example.org/o/r
    branch: main
    path: r
agent: codex
agent_catalogue: [codex, shell]
shell: [/bin/sh, -l]
env: {A: "1", B: x}
description: Words.
"""
)


def test_the_nine_bundled_ones_are_there_and_read() -> None:
    names = {read_profile(path.read_text()).id.removeprefix("profile.") for path in BUNDLED}
    assert names == {
        "shell", "python", "node", "claude-code", "codex", "opencode",
        "agent-dev", "compose-e2e", "build",
    }  # fmt: skip


@pytest.mark.parametrize("text", [META, FULL, HEAD, *(path.read_text() for path in BUNDLED)])
def test_profile_written_back_reads_the_same(text: str) -> None:
    profile = read_profile(text)
    assert read_profile(json.dumps(profile_document(profile))) == profile


def test_every_field_arrives() -> None:
    profile = read_profile(FULL)
    assert profile.resources.cpu == 1.5
    assert (profile.resources.ptys, profile.resources.files) == (4, 4096)
    assert profile.repos[0].path == "r"
    assert profile.agent_catalogue == ("codex", "shell")
    assert profile.shell == ("/bin/sh", "-l")
    assert profile.env == (("A", "1"), ("B", "x"))
    assert (profile.reachability.tunnel, profile.placement.fallback) == ("bridge", ("two",))
    assert (profile.ttl.default_seconds, profile.ttl.max_seconds) == (14400, 86400)


def test_network_and_safety_are_read_and_written_back() -> None:
    profile = read_profile(
        HEAD + "network: {mode: host-only, host_ports: [5432], ranges: [10.1.0.0/16], "
        "ports: [8443], egress: [a.example], out_mb_per_hour: 5, netlink: 0}\n"
        "safety: {shell: true, operator: [[git, push]], sudo: [[apt-get, update]]}\n"
    )
    assert profile.network.ports == (8443,)
    assert (profile.network.host_ports, profile.network.ranges) == ((5432,), ("10.1.0.0/16",))
    assert profile.network.netlink == 0
    assert profile.safety.operator == (("git", "push"),)
    document = json.dumps(profile_document(profile))
    assert read_profile(document) == profile


def test_aliases_and_defaults_are_understood() -> None:
    profile = read_profile(
        HEAD + "extension: in_memory\nresume_agents: false\nsoftlock: strict\n"
        "workspace: {mode: remote}\nttl: {default: 2d}\n"
        "isolation: {}\nnetwork: {mode: full}\nmetadata: {}\n"
    )
    assert profile.extension == "ext.in-memory"
    assert not profile.resume_agents
    assert read_profile(HEAD).resume_agents
    assert (profile.softlock, read_profile(HEAD).softlock) == (Strictness.STRICT, Strictness.OWNER)
    assert profile.workspace.mode is WorkspaceMode.REMOTE_CANONICAL
    assert profile.ttl.max_seconds == profile.ttl.default_seconds == 172800
    assert profile.isolation is IsolationLevel.CONTAINER
    assert profile.network.mode is NetworkMode.FULL
    assert read_profile(HEAD + "ttl: {max: 1h}\n").ttl.default_seconds == 3600
    assert workspace_mode("mirror") is WorkspaceMode.MIRROR
    assert workspace_mode("x") is None


@pytest.mark.parametrize(
    ("extra", "line", "field"),
    [
        ("surprise: 1", 3, "surprise"),
        ("resume_agents: perhaps", 3, "resume_agents"),
        ("id: profile.y", 3, "id"),
        ("extension: Docker!", 3, "extension"),
        ("extension: [a]", 3, "extension"),
        ("image: 'a b'", 3, "image"),
        ("isolation:\n  level: strong", 4, "isolation.level"),
        ("isolation: container", 3, "isolation"),
        ("network:\n  default: allow", 4, "network.default"),
        ("network:\n  egress: example.org", 4, "network.egress"),
        ("network:\n  egress: ['*.com']", 4, "network.egress[0]"),
        ("network:\n  egress: ['preset:nothing']", 4, "network.egress[0]"),
        ("network:\n  host_ports: [0]", 4, "network.host_ports[0]"),
        ("network:\n  ranges: ['8.8.8.0/24']", 4, "network.ranges[0]"),
        ("network:\n  allowed: [example.org]", 4, "network.allowed"),
        ("safety:\n  shell: 1", 4, "safety.shell"),
        ("safety:\n  operator: ['git push']", 4, "safety.operator[0]"),
        ("safety:\n  sudo: [[]]", 4, "safety.sudo[0]"),
        ('safety:\n  sudo: [[apt-get, "a\\nb"]]', 4, "safety.sudo[0]"),
        ("network:\n  egress:\n    - ok.example\n    - 'a b'", 6, "network.egress[1]"),
        ("workspace:\n  mode: canonical", 4, "workspace.mode"),
        ("workspace:\n  mode: 3", 4, "workspace.mode"),
        ("workspace:\n  access: rwx", 4, "workspace.access"),
        ("ttl:\n  default: soon", 4, "ttl.default"),
        ("ttl:\n  default: true", 4, "ttl.default"),
        ("ttl:\n  default: 2h\n  max: 1h", 4, "ttl"),
        ("resources:\n  cpu: many", 4, "resources.cpu"),
        ("resources:\n  cpu: .nan", 4, "resources.cpu"),
        ("resources:\n  memory_mb: 1.5", 4, "resources.memory_mb"),
        ("resources:\n  pids: true", 4, "resources.pids"),
        ("resources:\n  ptys: 0", 4, "resources.ptys"),
        ("setup:\n  secret_refs: [{}]", 4, "setup.secret_refs[0]"),
        ('setup:\n  instructions: "\\u0007"', 4, "setup.instructions"),
        ("repos:\n  - branch: main", 4, "repos[0].repo_url"),
        ("repos:\n  - repo_url: x\n    depth: 1", 5, "repos[0].depth"),
        ("shell: bash", 3, "shell"),
        ("shell: []", 3, "shell"),
        ("env: [A]", 3, "env"),
        ("env:\n  1A: x", 4, "env"),
        ("env:\n  A: 1", 4, "env.A"),
        ("metadata:\n  cost_class: free", 4, "metadata.cost_class"),
        ("metadata:\n  owner: me", 4, "metadata.owner"),
        ("metadata:\n  labels: [a]", 4, "metadata.labels"),
        ("description: *x", 3, "description"),
        ("description: &x hello", 3, "description"),
        ("description: !!python/name:os.system x", 3, "description"),
        ("<<: {agent: x}", 3, None),
        ("? [a, b]\n: c", 3, None),
        ("agent: no way", 3, "agent"),
    ],
)
def test_mistake_names_line_and_field(extra: str, line: int, field: str | None) -> None:
    with pytest.raises(Invalid) as err:
        read_profile(HEAD + extra + "\n")
    assert err.value.message.startswith(f"Line {line}, column"), err.value.message
    assert err.value.field == field


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "a: b: c",
        "[1, 2",
        "- a\n- b",
        "text",
        "a: 1\n---\nb: 2",
        "\x00",
        "a: \ud800",
        "x" * 70000,
        "[" * 60000,
        "{a: " * 5000,
        "a: " + "[" * 12 + "]" * 12,
        "a: [" + "1," * 5000 + "]",
        "version: '1.0.0'",
        'id: profile.x\nversion: "1.0"',
        "id: profile.x\nversion: 1.0",
        "id: Profile X\nversion: '1.0.0'",
        "%YAML 9.9\n---\na: 1",
    ],
)
def test_document_that_is_no_profile_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_profile(text)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    for document in (text, HEAD + text):
        try:
            read_profile(document)
        except Invalid as err:
            assert err.message


def test_no_is_a_word_and_not_a_boolean() -> None:
    assert read_profile(HEAD + "description: no\n").description == "no"


def test_ids_have_short_forms() -> None:
    assert profile_id("shell") == profile_id("profile.shell") == "profile.shell"
    assert extension_name("docker") == "ext.docker"
    for bad in ("", "../x", "A", "profile.", "a" * 80):
        with pytest.raises(Invalid):
            profile_id(bad)
    with pytest.raises(Invalid):
        extension_name("ext.UP")


def test_versions_sort_as_semver_says() -> None:
    order = ["0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-2.x", "1.0.0"]
    ordered = sorted([*order, "1.0.0+build", "1.10.0", "1.9.0"], key=version_key)
    assert ordered[-1] == "1.10.0"
    assert ordered.index("1.0.0-2.x") < ordered.index("1.0.0-alpha") < ordered.index("1.0.0")
    with pytest.raises(Invalid):
        version_key("1.0")


def test_checkpoints_are_read_and_written_back() -> None:
    head = "id: profile.x\nversion: '1.0.0'\nextension: ext.namespaces\n"
    profile = read_profile(head + "checkpoint: {every: 2h, on: [stop, sleep, stop]}\n")
    ends = (CheckpointEnd.STOP, CheckpointEnd.SLEEP)
    assert profile.checkpoint == CheckpointRule(7200, 5, ends)
    document = profile_document(profile)
    assert document["checkpoint"] == {"every": "2h", "keep": 5, "on": ["stop", "sleep"]}
    assert read_profile(json.dumps(document)) == profile
    only = read_profile(head + "checkpoint: {on: [expire], keep: 2}\n")
    assert only.checkpoint == CheckpointRule(None, 2, (CheckpointEnd.EXPIRE,))
    assert read_profile(json.dumps(profile_document(only))) == only
    assert read_profile(head).checkpoint is None
    for wrong in ("{}", "{keep: 3}", "{every: 10s}", "{on: [nap]}", "{every: 1h, keep: 51}"):
        with pytest.raises(Invalid):
            read_profile(head + f"checkpoint: {wrong}\n")


def test_seed_is_read_written_back_and_brings_the_repositories() -> None:
    head = "id: profile.x\nversion: '1.0.0'\nextension: ext.namespaces\n"
    profile = read_profile(head + "seed: snap_1\n")
    assert profile.seed == "snap_1"
    assert read_profile(json.dumps(profile_document(profile))) == profile
    assert read_profile(head).seed is None
    repos = "repos: [{repo_url: https://example.org/o/r}]\n"
    for wrong in ("seed: [one]\n", "seed: 'a b'\n", "seed: ''\n", repos + "seed: snap_1\n"):
        with pytest.raises(Invalid, match="seed"):
            read_profile(head + wrong)
