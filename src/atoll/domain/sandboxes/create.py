"""The making of a sandbox from a request and a profile.

Every field of the request is checked here, once, and the whole effective recipe is kept: a later
change of the profile never changes an existing sandbox.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atoll.domain.compose.reading import check_upload
from atoll.domain.errors import Invalid
from atoll.domain.files.host_mount import read_host_mounts
from atoll.domain.files.workspace_path import named_path, workspace_path
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.profile.profile import Profile
from atoll.domain.repository.branch import (
    branch_for_agent,
    branch_of_task,
    default_branch,
    free_branch,
    read_branch,
    read_new_branch,
)
from atoll.domain.repository.project import DecidedProject
from atoll.domain.repository.reference import read_repository_ref
from atoll.domain.repository.repository import is_local_key, plain_name, read_remote
from atoll.domain.sandboxes.instructions import read_instructions
from atoll.domain.sandboxes.naming import default_name, free_name, read_name, speakable_name
from atoll.domain.sandboxes.project import SandboxProject, project_of, widen, with_variables
from atoll.domain.sandboxes.sandbox import (
    Consumer,
    CreateSandbox,
    RepoRequest,
    Sandbox,
    SandboxRepo,
)
from atoll.domain.sandboxes.task import read_task
from atoll.domain.wall.environment import read_env
from atoll.wire.words.sandboxes import Access, Scope, WorkspaceMode
from atoll.wire.words.walls import WORKSPACE

REPO_REF = "inputs.repo_ref"
MAX_REPOS = 16
MAX_REFERENCE = 500
MAX_SPARSE = 100

_PATTERN = re.compile(r"""[*?\[\]!#"'\\]""")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The facts that a request cannot contain.

    They are the principal, the time, the names taken, and a free id. They also tell whether
    repositories on this machine's loopback may be named (development only), and below which host
    directories anybody may mount. `project` is the approved project that the request names,
    `branches` are those of the caller's sandboxes, `instructions` the words that a reference of the
    request names in a repository which is not the sandbox's.
    """

    caller: Principal
    now: datetime
    taken: Container[str]
    sandbox_id: SandboxId
    allow_loopback: bool = False
    mount_roots: tuple[str, ...] = ()
    project: DecidedProject | None = None
    branches: Container[str] = frozenset()
    instructions: str | None = None


def grant(request: CreateSandbox, profile: Profile, circumstances: Circumstances) -> Sandbox:
    """Return the sandbox that `request` requests, in state `requested`.

    Raises `Invalid` with `field`. A default name is made unique; a chosen one is taken as it is.
    """
    now = circumstances.now
    repos = read_repos(request, profile, circumstances)
    effective = _with_workspace_mode(overlay(request, profile), request, repos)
    if circumstances.project is not None:
        network = widen(effective.network, circumstances.project.content)
        effective = replace(effective, network=network)
    ttl = read_ttl(request, profile)
    check_upload(request.inputs.compose_bundle, ref=request.inputs.compose_bundle_ref)
    words = read_instructions(
        request.setup_metadata, profile, repos, elsewhere=circumstances.instructions
    )
    _check_access(effective, repos)
    return Sandbox(
        id=circumstances.sandbox_id,
        org_id=circumstances.caller.org_id,
        owner=circumstances.caller.id,
        name=_name(request, profile, repos, circumstances),
        profile=effective,
        scope=request.scope or profile.workspace.scope_default,
        ttl_seconds=ttl,
        created_at=now,
        updated_at=now,
        expires_at=now + timedelta(seconds=ttl),
        max_expires_at=now + timedelta(seconds=profile.ttl.max_seconds),
        agent=effective.agent,
        repos=repos,
        mounts=read_host_mounts(request.mounts, circumstances.mount_roots),
        copies=request.copies,
        cwd=_start_directory(request, effective),
        inputs=request.inputs,
        env=read_env(_variables(request, circumstances)),
        setup_metadata=request.setup_metadata,
        instructions=words,
        consumer=request.consumer,
        task=read_task(request.task, effective.agent, instructions=words),
        project=_project(request, circumstances),
        host="",
        lifecycle_webhook=request.lifecycle_webhook,
    )


def _project(request: CreateSandbox, circumstances: Circumstances) -> SandboxProject | None:
    if request.project is None or circumstances.project is None:
        return None
    return project_of(circumstances.project, request.project)


def _variables(request: CreateSandbox, circumstances: Circumstances) -> tuple[tuple[str, str], ...]:
    project = circumstances.project
    return request.env if project is None else with_variables(request.env, project.content)


def first_repository(request: CreateSandbox, profile: Profile) -> str | None:
    """Return the key of the repository whose project file counts: the first one's."""
    asked = _requested_repos(request, profile)
    return origin_of(asked[0])[0] if asked else None


def names_branches(request: CreateSandbox, profile: Profile) -> bool:
    """Return whether every repository that a sandbox would have is asked for with its branch; also
    where it has none. Raises `Invalid`."""
    return all(repo.branch is not None for repo in _requested_repos(request, profile))


def check_references(request: CreateSandbox) -> None:
    """Check references. Raises `Invalid` for one that is empty, too long or not printable."""
    for field, value in _references(request):
        if value is not None and not (0 < len(value) <= MAX_REFERENCE and value.isprintable()):
            raise Invalid(
                f"{field} must be 1 to {MAX_REFERENCE} printable characters.", field=field
            )


def agent_key(profile_id: str, consumer: Consumer) -> str:
    """Return the key of a sandbox of scope `agent`.

    It is the profile, and the consumer by actor, harness, and session, run or job. A second create
    with the same key gets the same sandbox.
    """
    parts = (consumer.harness, consumer.session_id, consumer.run_id, consumer.job_id)
    return "\x1f".join((profile_id, consumer.actor, *(part or "" for part in parts)))


def origin_of(repo: RepoRequest | SandboxRepo) -> tuple[str, tuple[str, ...]]:
    """Return the identity of a repository, however its address is spelled."""
    if repo.key is not None and is_local_key(repo.key):
        return repo.key, repo.sparse
    return read_remote(repo.repo_url, allow_loopback=True).key, repo.sparse


def overlay(request: CreateSandbox, profile: Profile) -> Profile:
    """Return the profile with the request's own choices applied to it."""
    return replace(
        profile,
        network=replace(profile.network, mode=request.network_mode or profile.network.mode),
        workspace=replace(
            profile.workspace,
            mode=request.workspace_mode or profile.workspace.mode,
            access=request.access or profile.workspace.access,
        ),
        agent=request.agent or profile.agent,
        softlock=request.softlock or request.usual_softlock or profile.softlock,
        agent_catalogue=read_catalogue(request, profile),
    )


def _check_access(profile: Profile, repos: tuple[SandboxRepo, ...]) -> None:
    """Check that what a workspace is to hold can be put there. Raises `Invalid`."""
    workspace = profile.workspace
    if workspace.access is Access.NONE and repos:
        raise Invalid(
            "access none leaves no place for repositories: name none, or take ro or rw",
            field="workspace.access",
        )
    if workspace.mode is WorkspaceMode.MIRROR and workspace.access is not Access.READ_WRITE:
        raise Invalid(
            f"a mirror is filled and changed, which access {workspace.access} does not allow: "
            "take rw",
            field="workspace.access",
        )


def _start_directory(request: CreateSandbox, profile: Profile) -> str:
    """Return where terminals and commands start. Raises `Invalid` for a place in a workspace that
    nothing inside may see."""
    cwd = read_cwd(request.cwd)
    if profile.workspace.access is Access.NONE and cwd != WORKSPACE:
        raise Invalid(f"with access none there is no {cwd[:80]}", field="cwd")
    return cwd


def check_consumer(request: CreateSandbox, profile: Profile) -> None:
    """Check that the end of a session can name its sandbox: it names a harness and one id. Raises
    `Invalid`."""
    consumer, scope = request.consumer, request.scope or profile.workspace.scope_default
    named = (consumer.session_id, consumer.run_id, consumer.job_id) != (None, None, None)
    if scope is Scope.SESSION and named and consumer.harness is None:
        raise Invalid(
            "a session, run or job is that of a harness: name it, or its end ends nothing",
            field="consumer.harness",
        )


def _with_workspace_mode(
    profile: Profile, request: CreateSandbox, repos: tuple[SandboxRepo, ...]
) -> Profile:
    """Return the recipe with its workspace mode.

    Commits leave a sandbox with repositories by `pull`, whatever the profile says; the caller fills
    a mirror. Raises `Invalid`.
    """
    if not repos or profile.workspace.mode is not WorkspaceMode.MIRROR:
        return profile
    if request.workspace_mode is WorkspaceMode.MIRROR:
        raise Invalid(
            "A mirror is filled with the caller's own folder: name no repositories, or leave the "
            "mode out.",
            field="workspace.mode",
        )
    canonical = replace(profile.workspace, mode=WorkspaceMode.REMOTE_CANONICAL)
    return replace(profile, workspace=canonical)


def read_catalogue(request: CreateSandbox, profile: Profile) -> tuple[str, ...] | None:
    """Return the agents that may run: the profile's, or fewer. Raises `Invalid`."""
    wanted, most = request.agent_catalogue, profile.agent_catalogue
    if wanted is None:
        return most
    beyond = [] if most is None else [name for name in wanted if name not in most]
    if beyond:
        raise Invalid(
            f"{profile.id} allows the agents {', '.join(most or ()) or 'none'}, not "
            f"{beyond[0][:80]!r}: a sandbox may have fewer, never others.",
            field="agent_catalogue",
        )
    return tuple(dict.fromkeys(wanted))


def read_ttl(request: CreateSandbox, profile: Profile) -> int:
    """Return the seconds to live: at least one, at most the profile's max. Raises `Invalid`."""
    seconds = profile.ttl.default_seconds if request.ttl_seconds is None else request.ttl_seconds
    if not 1 <= seconds <= profile.ttl.max_seconds:
        raise Invalid(
            f"ttl must lie between 1 and {profile.ttl.max_seconds} seconds, the most that "
            f"{profile.id} allows.",
            field="ttl",
        )
    return seconds


def read_cwd(text: str | None) -> str:
    """Return where terminals and commands start: absolute, `/workspace` or below. Raises
    `Invalid`."""
    if text is not None and not text.isprintable():
        raise Invalid("the start folder's name is not printable.", field="cwd")
    below = workspace_path(text or "", field="cwd")
    return f"{WORKSPACE}/{below}" if below else WORKSPACE


def read_sparse(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return directories of a repository, relative to its top, without repetition. Raises `Invalid`
    for what git's cone mode would read as a pattern (git-sparse-checkout(1))."""
    if len(folders) > MAX_SPARSE:
        raise Invalid(f"At most {MAX_SPARSE} folders can be named.", field="sparse")
    for folder in folders:
        if folder.startswith("/") or not folder.isprintable() or _PATTERN.search(folder):
            raise Invalid(
                f"{folder[:80]!r} is no folder of a repository: name it relative to the top, "
                "without * ? [ ] ! # or quotes.",
                field="sparse",
            )
    return tuple(dict.fromkeys(named_path(folder, field="sparse") for folder in folders))


def read_repos(
    request: CreateSandbox, profile: Profile, circumstances: Circumstances
) -> tuple[SandboxRepo, ...]:
    """Return the repositories with canonical addresses, branches and places.

    Without a requested place, a single one is `/workspace` itself and several are
    `/workspace/<repo>`. Raises `Invalid`.
    """
    asked = _requested_repos(request, profile)
    if len(asked) > MAX_REPOS:
        raise Invalid(f"At most {MAX_REPOS} repositories fit in a sandbox.", field="repos")
    places = [place_of(one, number) for number, one in enumerate(asked)]
    # A chosen directory is not given to another repository of that name.
    names = {place.split("/")[2] for place in places if place not in (None, WORKSPACE)}
    repos: list[SandboxRepo] = []
    named = _branch_of_task(request, profile, circumstances) or free_branch(
        default_branch(circumstances.now), circumstances.branches
    )
    for number, (one, place) in enumerate(zip(asked, places, strict=True)):
        try:
            url, name = source_of(one, allow_loopback=circumstances.allow_loopback)
            branch = read_new_branch(one.branch or named)
            start = None if one.from_branch is None else read_branch(one.from_branch)
            sparse = read_sparse(one.sparse)
        except Invalid as err:
            where = f"repos[{number}].{err.field or 'repo_url'}"
            if asked is not request.repos and request.inputs.repo_ref is not None:
                where = REPO_REF
            raise Invalid(err.message, code=err.code, field=where) from err
        if place is None:
            name = free_name(name, names)
            names.add(name)
            place = WORKSPACE if len(asked) == 1 else f"{WORKSPACE}/{name}"
        repos.append(SandboxRepo(url, branch, start, place, one.key, sparse))
    check_apart([repo.path for repo in repos])
    return tuple(repos)


def _branch_of_task(
    request: CreateSandbox, profile: Profile, circumstances: Circumstances
) -> str | None:
    """Return the branch that the words of a task propose, which no other sandbox of the caller has:
    the same words given twice make two branches. One of a group ends with its agent's name."""
    task, agent = request.task, request.agent or profile.agent
    if task is None:
        return None
    branch = branch_of_task(task.prompt)
    if task.group is not None and agent is not None:
        branch = branch_for_agent(branch, agent)
    return free_branch(branch, circumstances.branches)


def check_apart(paths: list[str]) -> None:
    """Raise `Invalid` when one repository would lie in another, or where another lies."""
    for number, path in enumerate(paths):
        for other in paths[:number]:
            if path == other or f"{path}/".startswith(f"{other}/") or other.startswith(f"{path}/"):
                raise Invalid(
                    f"{path} and {other} cannot both hold a repository: give each a folder of its "
                    "own.",
                    field=f"repos[{number}].path",
                )


def _requested_repos(request: CreateSandbox, profile: Profile) -> tuple[RepoRequest, ...]:
    """Return the requested repositories, else `inputs.repo_ref`, else the profile's. Raises
    `Invalid`."""
    ref = request.inputs.repo_ref
    if request.repos:
        if ref is not None and not _names_one_of(ref, request.repos):
            raise Invalid(
                "repo_ref names a repository that repos does not: give one of the two.",
                field=REPO_REF,
            )
        return request.repos
    if ref is not None:
        return (repo_of_ref(ref),)
    return tuple(
        RepoRequest(repo.repo_url, from_branch=repo.branch, path=repo.path)
        for repo in profile.repos
    )


def repo_of_ref(ref: str) -> RepoRequest:
    """Return the repository that `inputs.repo_ref` names, whose new branch begins at its `@REF`.
    Raises `Invalid`."""
    named = read_repository_ref(ref, field=REPO_REF)
    return RepoRequest(named.address, from_branch=named.ref, key=named.key)


def _names_one_of(ref: str, repos: tuple[RepoRequest, ...]) -> bool:
    named = repo_of_ref(ref)
    return any(
        (repo.repo_url == named.repo_url if named.key is None else repo.key == named.key)
        and named.from_branch in (None, repo.from_branch)
        for repo in repos
    )


def place_of(request: RepoRequest, number: int) -> str | None:
    """Return the requested place, absolute; None without one. Raises `Invalid`."""
    if request.path is None:
        return None
    field = f"repos[{number}].path"
    below = workspace_path(request.path, field=field)
    if not below.isprintable() or any(part.casefold() == ".git" for part in below.split("/")):
        raise Invalid("a repository cannot lie there: name a plain folder.", field=field)
    return f"{WORKSPACE}/{below}" if below else WORKSPACE


def source_of(request: RepoRequest, *, allow_loopback: bool) -> tuple[str, str]:
    """Return the canonical address and short name of one repository. Raises `Invalid`."""
    if request.key is not None and is_local_key(request.key):
        # The origin of an uploaded checkout is only a label here: nothing dials it.
        words = request.repo_url.rstrip("/").removesuffix(".git").rsplit("/", 1)[-1]
        if len(request.repo_url) > MAX_REFERENCE or not request.repo_url.isprintable():
            raise Invalid("The address of a local repository is not printable.", field="repo_url")
        return request.repo_url, plain_name(words)
    remote = read_remote(request.repo_url, allow_loopback=allow_loopback)
    if request.key not in (None, remote.key):
        raise Invalid(
            "The key is neither a local repository's nor the one of this address.", field="key"
        )
    return remote.repo_url, remote.name


def _name(
    request: CreateSandbox,
    profile: Profile,
    repos: tuple[SandboxRepo, ...],
    circumstances: Circumstances,
) -> str:
    if request.name is not None:
        return read_name(request.name)
    first = repos[0] if repos else None
    repo = None if first is None else plain_name(first.repo_url.rstrip("/").rsplit("/", 1)[-1])
    token = circumstances.sandbox_id[3:9]
    if request.task is not None and not any(one.branch for one in request.repos):
        # Its branch is a sentence: two words are easier to say.
        base = repo or (request.agent or profile.id).partition("@")[0].removeprefix("profile.")
        return speakable_name(base, token, circumstances.taken)
    wanted = default_name(
        repo=repo,
        branch=None if first is None else first.branch,
        profile_id=profile.id,
        token=token,
    )
    return free_name(wanted, circumstances.taken)


def _references(request: CreateSandbox) -> list[tuple[str, str | None]]:
    consumer, setup = request.consumer, request.setup_metadata
    return [
        ("agent", request.agent),
        ("task.group", None if request.task is None else request.task.group),
        *(("agent_catalogue", name) for name in request.agent_catalogue or ()),
        *(("copies", each) for each in request.copies),
        (REPO_REF, request.inputs.repo_ref),
        ("inputs.compose_bundle_ref", request.inputs.compose_bundle_ref),
        ("setup_metadata.instructions_ref", setup.instructions_ref),
        *(("setup_metadata.secret_refs", ref) for ref in setup.secret_refs),
        ("consumer.harness", consumer.harness),
        ("consumer.session_id", consumer.session_id),
        ("consumer.run_id", consumer.run_id),
        ("consumer.job_id", consumer.job_id),
    ]
