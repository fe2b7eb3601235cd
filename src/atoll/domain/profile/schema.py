"""The schema of profile documents, read strictly, and written back.

Reads YAML or JSON into `domain.profile.profile`'s nouns; an error names line, column and field.
Whether a backend can serve a profile is not checked here.
"""

import re
from dataclasses import asdict
from functools import lru_cache

from atoll.domain.duration import spell_duration
from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.profile.network import (
    network_document,
    read_network,
    read_safety,
    safety_document,
)
from atoll.domain.profile.profile import (
    CheckpointRule,
    Placement,
    Profile,
    Reach,
    Recording,
    Repo,
    RootMode,
    Setup,
    Ttl,
    Workspace,
)
from atoll.domain.profile.route import read_extension, read_route, route_document
from atoll.domain.profile.tools import read_tools, tools_document
from atoll.domain.profile.yaml_fields import Fields, choice, matching, read_number, read_text
from atoll.domain.profile.yaml_tree import Node, read_tree
from atoll.domain.wall.environment import read_env
from atoll.domain.wall.resources import Resources
from atoll.wire.words.sandboxes import (
    Access,
    CheckpointEnd,
    IdleAction,
    Scope,
    WakePolicy,
    WorkspaceMode,
)
from atoll.wire.words.terminals import Strictness
from atoll.wire.words.walls import IsolationLevel

MAX_CHECKPOINTS = 50
LEAST_CHECKPOINT_SECONDS = 60

_ID = re.compile(r"profile\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_VERSION = re.compile(
    r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})"
    r"(?:-((?:[0-9A-Za-z-]{1,40}\.?){1,5}(?<!\.)))?(?:\+[0-9A-Za-z.-]{1,40})?"
)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}")
_IMAGE = re.compile(r"[A-Za-z0-9./][A-Za-z0-9._:/@-]{0,254}")

_version = matching(_VERSION, "a version such as 1.0.0 (quote it)")
_word = matching(_WORD, "a plain name")


def profile_id(ref: str) -> str:
    """Return the whole id a person means: `shell` is `profile.shell`. Raises `Invalid`."""
    whole = ref if ref.startswith("profile.") else f"profile.{ref}"
    if not _ID.fullmatch(whole):
        raise Invalid(
            f"{ref[:80]!r} cannot name a profile: lower-case letters, digits and `-`.",
            field="profile",
        )
    return whole


def workspace_mode(word: str) -> WorkspaceMode | None:
    """Return the mode a word means (`remote` is `remote-canonical`), None for an unknown word."""
    try:
        return WorkspaceMode(word)
    except ValueError:
        return None


def version_key(version: str) -> tuple[tuple[int, int, int], int, tuple[tuple[int, int, str], ...]]:
    """Return a key that sorts versions as semver.org 2.0.0 §11 says; build metadata does not
    count."""
    match = _VERSION.fullmatch(version)
    if match is None:
        raise Invalid(f"{version[:80]!r} is not a version such as 1.0.0.", field="version")
    core = (int(match[1]), int(match[2]), int(match[3]))
    words = match[4].split(".") if match[4] else []
    marks = tuple((0, int(w), "") if w.isdigit() else (1, 0, w) for w in words)
    return core, 0 if words else 1, marks


@lru_cache(maxsize=64)
def read_profile(document: str) -> Profile:
    """Return the profile in `document` (YAML or JSON). Raises `Invalid` with line and field."""
    fields = Fields(read_tree(document))
    extension = read_extension(fields.take("extension"))
    metadata = fields.part("metadata")
    profile = Profile(
        id=_identity(fields.need("id")),
        version=_version(fields.need("version")),
        extension=extension,
        route=read_route(fields.take("route"), extension),
        image=_image(fields.take("image")),
        root=fields.choice("root", RootMode.READ_ONLY),
        isolation=_isolation(fields.part("isolation")),
        network=read_network(fields.part("network")),
        safety=read_safety(fields.part("safety")),
        workspace=_workspace(fields.part("workspace")),
        ttl=_ttl(fields.take("ttl")),
        resources=_resources(fields.part("resources")),
        setup=_setup(fields.part("setup")),
        placement=_placement(fields.part("placement")),
        reachability=_reach(fields.part("reachability")),
        seed=_seed(fields),
        repos=fields.items("repos", _repo),
        agent=_maybe_word(fields.take("agent")),
        agent_catalogue=fields.listed("agent_catalogue", _word),
        shell=_shell(fields.take("shell")),
        env=_env(fields),
        recording=fields.choice("recording", Recording.OFF),
        resume_agents=fields.switch("resume_agents", True),
        idle_action=fields.choice("idle_action", IdleAction.STOP),
        wake=fields.choice("wake", WakePolicy.ACCESS),
        checkpoint=_checkpoint(fields.take("checkpoint")),
        softlock=fields.choice("softlock", Strictness.OWNER),
        description=fields.text("description", ""),
        cost_class=_cost_class(metadata),
        latency_class=_latency_class(metadata),
        labels=metadata.pairs("labels") if metadata else (),
        mcp=read_tools(fields.part("mcp")),
    )
    for part in (metadata, fields) if metadata else (fields,):
        part.done()
    return profile


def profile_document(profile: Profile) -> dict[str, Json]:
    """Return the profile as plain JSON, in the shape `read_profile` reads back."""
    return {
        "id": profile.id,
        "version": profile.version,
        "description": profile.description,
        "extension": profile.extension or None,
        "route": route_document(profile),
        "image": profile.image,
        "root": profile.root.value,
        "isolation": {"level": profile.isolation.value},
        "network": network_document(profile.network),
        "safety": safety_document(profile.safety),
        "workspace": _workspace_document(profile.workspace),
        "ttl": _ttl_document(profile.ttl),
        "resources": dict(asdict(profile.resources)),
        "setup": _setup_document(profile.setup),
        "placement": {
            "prefer": [*profile.placement.prefer],
            "fallback": [*profile.placement.fallback],
        },
        "reachability": dict(asdict(profile.reachability)),
        "repos": [dict(asdict(repo)) for repo in profile.repos],
        "agent": profile.agent,
        "agent_catalogue": None if profile.agent_catalogue is None else [*profile.agent_catalogue],
        "shell": [*profile.shell],
        "env": dict(profile.env),
        "recording": profile.recording.value,
        "resume_agents": profile.resume_agents,
        "idle_action": profile.idle_action.value,
        "wake": profile.wake.value,
        "checkpoint": _checkpoint_document(profile.checkpoint),
        "seed": profile.seed,
        "softlock": profile.softlock.value,
        "mcp": tools_document(profile.mcp),
        "metadata": {
            "cost_class": profile.cost_class,
            "latency_class": profile.latency_class,
            "labels": dict(profile.labels),
        },
    }


def _workspace_document(workspace: Workspace) -> dict[str, Json]:
    return {
        "mode": workspace.mode.value,
        "access": workspace.access.value,
        "scope_default": workspace.scope_default.value,
    }


def _ttl_document(ttl: Ttl) -> dict[str, Json]:
    idle, stop = ttl.idle_reap_seconds, ttl.idle_stop_seconds
    return {
        "default": spell_duration(ttl.default_seconds),
        "max": spell_duration(ttl.max_seconds),
        "idle_reap": None if idle is None else spell_duration(idle),
        "idle_stop": None if stop is None else spell_duration(stop),
        "warning": spell_duration(ttl.warning_seconds),
        "retention": spell_duration(ttl.retention_seconds),
    }


def _setup_document(setup: Setup) -> dict[str, Json]:
    return {"instructions": setup.instructions, "secret_refs": [*setup.secret_refs]}


def _checkpoint_document(rule: CheckpointRule | None) -> Json:
    if rule is None:
        return None
    every = rule.every_seconds
    return {
        "every": None if every is None else spell_duration(every),
        "keep": rule.keep,
        "on": [end.value for end in rule.ends],
    }


def _identity(node: Node) -> str:
    value = read_text(node)
    try:
        return profile_id(value)
    except Invalid as err:
        raise node.wrong("must be `profile.` and lower-case letters, digits and `-`") from err


def _image(node: Node | None) -> str:
    wanted = "`host`, a root tree, or an OCI reference"
    return "host" if node is None else matching(_IMAGE, wanted)(node)


def _isolation(part: Fields | None) -> IsolationLevel:
    if part is None:
        return IsolationLevel.CONTAINER
    level = part.choice("level", IsolationLevel.CONTAINER)
    part.done()
    return level


def _workspace(part: Fields | None) -> Workspace:
    if part is None:
        return Workspace()
    mode = part.take("mode")
    workspace = Workspace(
        mode=WorkspaceMode.REMOTE_CANONICAL if mode is None else _mode(mode),
        access=part.choice("access", Access.READ_WRITE),
        scope_default=part.choice("scope_default", Scope.SESSION),
    )
    part.done()
    return workspace


def _mode(node: Node) -> WorkspaceMode:
    value = node.value
    alias = workspace_mode(value) if isinstance(value, str) else None
    return alias or choice(node, WorkspaceMode)


def _ttl(node: Node | None) -> Ttl:
    if node is None:
        return Ttl()
    part, normal = Fields(node), Ttl()
    default = part.seconds("default", None)
    most = part.seconds("max", None) or max(normal.max_seconds, default or 0)
    ttl = Ttl(
        default_seconds=default or min(normal.default_seconds, most),
        max_seconds=most,
        idle_reap_seconds=part.seconds("idle_reap", None),
        idle_stop_seconds=part.seconds("idle_stop", None),
        retention_seconds=part.seconds("retention", None) or normal.retention_seconds,
        warning_seconds=part.seconds("warning", None) or normal.warning_seconds,
    )
    part.done()
    if ttl.default_seconds > ttl.max_seconds:
        raise node.wrong("has a default longer than its max")
    return ttl


def _checkpoint(node: Node | None) -> CheckpointRule | None:
    if node is None:
        return None
    part = Fields(node)
    rule = CheckpointRule(
        every_seconds=part.seconds("every", None),
        keep=part.whole("keep", least=1, most=MAX_CHECKPOINTS) or CheckpointRule().keep,
        ends=tuple(dict.fromkeys(part.items("on", lambda word: choice(word, CheckpointEnd)))),
    )
    part.done()
    if rule.every_seconds is None and not rule.ends:
        raise node.wrong("needs `every` or `on`")
    if rule.every_seconds is not None and rule.every_seconds < LEAST_CHECKPOINT_SECONDS:
        raise node.wrong(f"has an `every` below {LEAST_CHECKPOINT_SECONDS} seconds")
    return rule


def _seed(fields: Fields) -> str | None:
    node, others = fields.take("seed"), dict(fields.left())
    if node is not None and "repos" in others and others["repos"].value:
        raise node.wrong("brings its own repositories: leave `repos` out")
    return _maybe_word(node)


def _resources(part: Fields | None) -> Resources:
    if part is None:
        return Resources()
    cpu = part.take("cpu")
    resources = Resources(
        cpu=None if cpu is None else read_number(cpu, least=0.01, most=1024),
        memory_mb=part.whole("memory_mb", least=16, most=4 << 20),
        pids=part.whole("pids", least=8, most=1 << 20),
        ptys=part.whole("ptys", least=1, most=4096),
        workspace_mb=part.whole("workspace_mb", least=16, most=16 << 20),
        files=part.whole("files", least=256, most=1 << 20),
    )
    part.done()
    return resources


def _setup(part: Fields | None) -> Setup:
    if part is None:
        return Setup()
    setup = Setup(part.text("instructions", ""), part.items("secret_refs", _word))
    part.done()
    return setup


def _placement(part: Fields | None) -> Placement:
    if part is None:
        return Placement()
    placement = Placement(part.items("prefer", _word), part.items("fallback", _word))
    part.done()
    return placement


def _reach(part: Fields | None) -> Reach:
    if part is None:
        return Reach()
    reach = Reach(_maybe_word(part.take("tunnel")), _maybe_word(part.take("identity")))
    part.done()
    return reach


def _repo(node: Node) -> Repo:
    part = Fields(node)
    repo = Repo(read_text(part.need("repo_url")), part.words("branch"), part.words("path"))
    part.done()
    return repo


def _maybe_word(node: Node | None) -> str | None:
    return None if node is None else _word(node)


def _shell(node: Node | None) -> tuple[str, ...]:
    if node is None:
        return ("/bin/bash",)
    if not isinstance(node.value, list) or not 1 <= len(node.value) <= 50:
        raise node.wrong("must be a list: the program and its arguments")
    return tuple(read_text(item) for item in node.value)


def _env(fields: Fields) -> tuple[tuple[str, str], ...]:
    node = fields.take("env")
    if node is None:
        return ()
    if not isinstance(node.value, dict):
        raise node.wrong("must be a mapping of names to text")
    pairs = [(name, read_text(value)) for name, value in node.value.items()]
    try:
        return read_env(pairs)
    except Invalid as err:
        raise node.wrong(f"is wrong: {err.message}") from err


def _cost_class(metadata: Fields | None) -> str:
    node = metadata.take("cost_class") if metadata else None
    if node is None:
        return "self-hosted"
    if node.value not in ("self-hosted", "saas-metered"):
        raise node.wrong("must be self-hosted or saas-metered")
    return str(node.value)


def _latency_class(metadata: Fields | None) -> str:
    node = metadata.take("latency_class") if metadata else None
    return "standard" if node is None else _word(node)
