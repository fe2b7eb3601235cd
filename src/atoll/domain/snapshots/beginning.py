"""Sandboxes that begin as a snapshot: what they take of it, and what is their own. Pure.

A copy is somebody else: its id, tokens, host name and doors are new, and its policy is composed
anew. Of the sandbox that it was it has the files, the recipe and, if wanted, the conversation.
"""

from dataclasses import replace

from atoll.domain.agents.resumable import RunningAgent
from atoll.domain.errors import Conflict, Invalid
from atoll.domain.ids import PrincipalId
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.sandbox import (
    CreateSandbox,
    RepoRequest,
    Sandbox,
    SandboxRepo,
    SeedRequest,
    SetupMetadata,
)
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.wire.words.sandboxes import Conversation

_BROUGHT = ("repos", "mounts", "project", "copies", "inputs", "agent_catalogue", "cwd")
"""The fields of a request that a snapshot brings along, or that it cannot take."""


def seeded_request(
    owner: PrincipalId, snapshot: Snapshot, request: CreateSandbox, profile: Profile | None = None
) -> CreateSandbox:
    """Return a request of `owner` completed by its snapshot, which brings the recipe, too, unless
    a `profile` named it. Raises `Invalid` for a field that the snapshot brings."""
    plain, source = CreateSandbox(), snapshot.source
    seed = request.seed or SeedRequest(snapshot.id)
    for name in _BROUGHT:
        if getattr(request, name) != getattr(plain, name):
            raise Invalid(
                f"snapshot {snapshot.name} brings its own {name}: leave it out", field=name
            )
    own = source.owner == owner
    filled = replace(
        request,
        cwd=source.cwd,
        seed=replace(seed, snapshot=snapshot.id),
        repos=tuple(_repo_request(repo, seed.branch) for repo in source.repos),
        env=request.env or (source.env if own else ()),
    )
    secret_refs = source.setup_metadata.secret_refs if own else ()
    if profile is not None:
        agent = request.agent or profile.agent or source.agent
        setup = _setup(request.setup_metadata, profile, source, secret_refs)
        return replace(filled, agent=agent, setup_metadata=setup)
    return replace(
        filled,
        profile=source.profile.id,
        profile_version=None,
        agent=request.agent or source.agent,
        setup_metadata=SetupMetadata(
            secret_refs=secret_refs, instructions=source.instructions or None
        ),
    )


def _setup(
    named: SetupMetadata, profile: Profile, source: Sandbox, secret_refs: tuple[str, ...]
) -> SetupMetadata:
    """Return a set-up with what neither its request nor its profile names taken from the
    snapshot."""
    worded = named.instructions_ref or named.instructions or profile.setup.instructions
    return replace(
        named,
        secret_refs=named.secret_refs or secret_refs,
        instructions=named.instructions if worded else source.instructions or None,
    )


def as_seeded(made: Sandbox, snapshot: Snapshot, seed: SeedRequest) -> Sandbox:
    """Return a new sandbox that begins as a snapshot."""
    source, own = snapshot.source, snapshot.owner == made.owner
    agents = _admitted(continued(source, seed.conversation), made.profile)
    resources = replace(made.profile.resources, workspace_mb=source.profile.resources.workspace_mb)
    return replace(
        made,
        seed=snapshot.id,
        profile=replace(made.profile, resources=resources),
        repos=tuple(map(_carried, made.repos, source.repos)),
        instructed=source.instructed and bool(agents) and made.instructions == source.instructions,
        agents=agents,
        resuming=bool(agents),
        project=source.project if own else None,
        exposed_secrets=source.exposed_secrets,
    )


def host_for(snapshot: Snapshot, wanted: str | None) -> str | None:
    """Return the host that a sandbox can begin as a snapshot on, None where that has no name.
    Raises `Conflict` when another is `wanted`."""
    host = snapshot.source.host or None
    if wanted not in (None, host):
        raise Conflict(
            f"Snapshot {snapshot.name} is kept on {host or snapshot.extension}, and no sandbox of "
            f"another host begins as it: leave {wanted} out.",
            code="not_promised",
            field="host",
        )
    return host


def continued(source: Sandbox, conversation: Conversation) -> tuple[RunningAgent, ...]:
    """Return the agent that goes on in a copy: the sandbox's own, else the one that was opened
    last. The others do not run twice."""
    if conversation is not Conversation.CONTINUE:
        return ()
    talking = [each for each in source.agents if each.conversation is not None]
    own = [each for each in talking if each.agent == (source.agent or "").partition("@")[0]]
    return tuple(replace(each, by=None) for each in (own or talking)[-1:])


def _admitted(agents: tuple[RunningAgent, ...], profile: Profile) -> tuple[RunningAgent, ...]:
    """Return those agents that a profile lets run."""
    catalogue = profile.agent_catalogue
    return tuple(each for each in agents if catalogue is None or each.agent in catalogue)


def _repo_request(repo: SandboxRepo, branch: str | None) -> RepoRequest:
    return RepoRequest(repo.repo_url, branch, repo.from_branch, repo.key, repo.sparse, repo.path)


def _carried(made: SandboxRepo, source: SandboxRepo) -> SandboxRepo:
    """Return a repository that is laid out already, with what is known of it."""
    return replace(
        made,
        began_from=source.began_from,
        submodules=source.submodules,
        lfs_files=source.lfs_files,
    )
