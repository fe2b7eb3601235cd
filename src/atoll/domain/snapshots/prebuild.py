"""Prebuilds: snapshots taken after a set-up, which others begin as instead of running it. Pure.

A set-up is the same where its approval, its person, its repository, the files that it reads its
versions from, its branch, and everything that surrounds it are the same: these make the key. It is
kept for the person who approved it alone. Whoever is inside while it runs could write into what is
kept.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

import msgspec

from atoll.domain.profile.profile import RootMode
from atoll.domain.sandboxes.create import origin_of
from atoll.domain.sandboxes.project import SandboxProject
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.snapshot import Prebuild, Snapshot
from atoll.wire.words.sandboxes import Access, Scope, SetupState, SnapshotState, TaskState

LIFE_SECONDS: Final = 7 * 86400
"""The life of a prebuild: an image's tag may name another image by then."""

MAX_OF_REPOSITORY: Final = 3
MAX_OF_PERSON: Final = 20

VERSION_FILES: Final = (
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    ".nvmrc",
    ".npmrc",
    ".node-version",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "requirements-dev.txt",
    "poetry.lock",
    "pdm.lock",
    "uv.lock",
    "Pipfile.lock",
    ".python-version",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "go.mod",
    "go.sum",
    "Gemfile",
    "Gemfile.lock",
    ".ruby-version",
    "composer.lock",
    "mix.lock",
    "pubspec.lock",
    "gradle.lockfile",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "flake.lock",
    "Makefile",
    ".tool-versions",
    "mise.toml",
    ".gitmodules",
)
"""Files that say which versions a set-up brings, where package managers look for them."""

_MAX_NAMED = 40
_MAX_FOLDERS = 20
_NAME = re.compile(r"[\w.@+/-]{1,200}", re.ASCII)


def may_be_prebuilt(sandbox: Sandbox) -> bool:
    """Report whether a new sandbox may begin as a prebuild, and become one: it runs an approved
    set-up over one repository, and nothing of a person can be among its files."""
    project = sandbox.project
    return (
        project is not None
        and project.state is SetupState.WAITING
        and sandbox.generation == 1
        and sandbox.ready_at is None
        and sandbox.seed is None
        and _holds_only_its_repository(sandbox, project)
    )


def barrier_to_keeping(sandbox: Sandbox) -> str | None:
    """Return why the disk of a sandbox whose set-up has just succeeded may not be kept, in words;
    None where it may: its agent has not begun, and nothing of a person came in meanwhile."""
    project, task = sandbox.project, sandbox.task
    if project is None or project.prebuild_key is None:
        return "it was run again, or settled before"
    if project.state is not SetupState.DONE:
        return f"it is {project.state}"
    if sandbox.generation != 1:
        return "its sandbox was started again"
    if task is not None and task.state is not TaskState.WAITING:
        return "its agent has begun"
    if not _holds_only_its_repository(sandbox, project):
        return "something of a person came in"
    return None


def _holds_only_its_repository(sandbox: Sandbox, project: SandboxProject) -> bool:
    """Return whether nothing but a repository and its approved project made the sandbox: no secret,
    no variable, no file and no folder of a person, and nobody else who may enter."""
    profile, inputs = sandbox.profile, sandbox.inputs
    of_person = (
        sandbox.exposed_secrets,
        sandbox.setup_metadata.secret_refs,
        profile.setup.secret_refs,
        sandbox.mounts,
        sandbox.copies,
        project.content.copies,
        sandbox.ancestors,
        inputs.compose_bundle_ref,
        inputs.compose_bundle,
    )
    return (
        not any(of_person)
        and not project.later
        and dict(sandbox.env) == dict(project.content.env)
        and len(sandbox.repos) == 1
        and profile.workspace.access is Access.READ_WRITE
        # A layer above the root is beside the workspace.
        and profile.root is RootMode.READ_ONLY
        and sandbox.scope is not Scope.SHARED
    )


def version_paths(commands: Iterable[str]) -> tuple[str, ...]:
    """Return the paths in a repository that may say which versions a set-up brings: all that its
    commands name, and the well-known files at the top and in every directory named."""
    words = (word for command in commands for word in _NAME.findall(command))
    plain = (word.removeprefix("./").rstrip("/") for word in words)
    inner = dict.fromkeys(
        word
        for word in plain
        if word and not word.startswith("/") and not {"", ".", ".."} & {*word.split("/")}
    )
    named = list(islice(inner, _MAX_NAMED))
    above = dict.fromkeys(("", *(folder for word in named for folder in _folders(word))))
    known = (
        f"{folder}/{name}" if folder else name
        for folder in islice(above, _MAX_FOLDERS)
        for name in VERSION_FILES
    )
    return tuple(dict.fromkeys((*named, *known)))


def _folders(path: str) -> Iterable[str]:
    """Yield a path and the directories above it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Beginning:
    """The place where a tree begins.

    - `files`: the object ids of the files that say versions.
    - `branch`: the branch or tag that it begins at.
    - `trusted`: other branches whose prebuilds its sandbox may begin as.

    A branch of somebody else's may change what a set-up runs in files that say no version. What its
    set-up left is for sandboxes of that branch alone.
    """

    files: Mapping[str, str]
    branch: str
    trusted: tuple[str, ...] = ()


def prebuild_keys(sandbox: Sandbox, start: Beginning, agents: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of prebuilds that a sandbox with a project may begin as: first the one that
    its own disk is kept under. `agents` are those inside, with their versions."""
    return tuple(
        _key(sandbox, start.files, agents, branch) for branch in (start.branch, *start.trusted)
    )


def _key(sandbox: Sandbox, files: Mapping[str, str], agents: Sequence[str], branch: str) -> str:
    """Return the key of a prebuild: 64 hex digits."""
    project, repo = sandbox.project, sandbox.repos[0]
    same = (
        sandbox.org_id,
        sandbox.owner,
        origin_of(repo),
        branch,
        repo.path,
        sandbox.cwd,
        None if project is None else (project.repository, project.digest),
        sorted(files.items()),
        sorted(agents),
        sandbox.profile,
        sandbox.host,
        sandbox.region,
    )
    return hashlib.sha256(b"atoll prebuild 1\n" + msgspec.json.encode(same)).hexdigest()


def find_prebuild(
    sandbox: Sandbox, key: str, prebuilds: Iterable[Snapshot], now: datetime
) -> Snapshot | None:
    """Return the newest snapshot that a sandbox may begin as instead of its set-up."""
    usable = [
        each
        for each in prebuilds
        if each.prebuild is not None
        and each.prebuild.key == key
        and _is_of_same_approval(sandbox, each, now)
    ]
    return max(usable, key=lambda each: each.created_at, default=None)


def awaits_snapshot(sandbox: Sandbox, prebuilds: Iterable[Snapshot], now: datetime) -> bool:
    """Report whether a sandbox about to start is likely to begin as a prebuild: one of the same
    approval is there. Its key is known only once the repository was read."""
    return may_be_prebuilt(sandbox) and any(
        _is_of_same_approval(sandbox, each, now) for each in prebuilds
    )


def _is_of_same_approval(sandbox: Sandbox, snapshot: Snapshot, now: datetime) -> bool:
    """Return whether a snapshot is a whole prebuild of the set-up that a sandbox's person approved,
    and is where the sandbox is."""
    project, prebuild, source = sandbox.project, snapshot.prebuild, snapshot.source
    return (
        prebuild is not None
        and project is not None
        and (snapshot.org_id, snapshot.owner) == (sandbox.org_id, sandbox.owner)
        and snapshot.state is SnapshotState.READY
        and (snapshot.expires_at is None or now < snapshot.expires_at)
        and (prebuild.repository, prebuild.digest) == (project.repository, project.digest)
        and (snapshot.extension, source.host) == (sandbox.profile.extension, sandbox.host)
    )


def prebuild_of(project: SandboxProject, now: datetime) -> Prebuild:
    """Return the use of a snapshot that is taken after the set-up of a project."""
    return Prebuild(project.prebuild_key or "", project.repository, project.digest, now)


def surplus_prebuilds(snapshots: Iterable[Snapshot]) -> tuple[Snapshot, ...]:
    """Return the prebuilds of one person that are too many: those used longest ago."""
    uses = [(each.prebuild, each) for each in snapshots if each.prebuild is not None]
    counts: Counter[str] = Counter()
    over: list[Snapshot] = []
    newest = sorted(uses, key=lambda use: use[0].used_at, reverse=True)
    for number, (prebuild, snapshot) in enumerate(newest):
        counts[prebuild.repository] += 1
        if counts[prebuild.repository] > MAX_OF_REPOSITORY or number >= MAX_OF_PERSON:
            over.append(snapshot)
    return tuple(over)
