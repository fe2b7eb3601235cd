"""Children: sandboxes that an agent inside another one makes. Pure.

A child is made from its parent's recipe, for the same owner, and never has more than its parent. It
may have less time, fewer repositories and no mounts.
"""

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Final

from atoll.domain.errors import Conflict, Forbidden, Invalid, LimitReached
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.profile.profile import Profile
from atoll.domain.repository.repository import is_local_key, read_remote
from atoll.domain.sandboxes.sandbox import (
    LIVE,
    RUNNING,
    CreateSandbox,
    RepoRequest,
    Sandbox,
    SandboxRepo,
)
from atoll.domain.sandboxes.steps.outcome import Outcome
from atoll.domain.sandboxes.steps.requests import destroy, stop_running
from atoll.domain.sandboxes.stimulus import ChildMade, ParentEnded
from atoll.domain.sandboxes.task import TaskRequest
from atoll.domain.tools.rule import ChildQuota
from atoll.wire.words.sandboxes import Scope, State

HOUR: Final = timedelta(hours=1)

_COMING = frozenset({State.REQUESTED, State.PROVISIONING})

_CHOSEN = frozenset({"profile", "name", "repos", "ttl_seconds", "task", "usual_softlock"})
"""The fields of a request that an agent inside may choose, and one that no caller names."""


def step_family(sandbox: Sandbox, stimulus: ChildMade | ParentEnded, now: datetime) -> Outcome:
    """Return the outcome of a child that was made, or of a parent that ended. A child that runs
    stops and keeps its files; one that was never ready goes."""
    match stimulus:
        case ChildMade():
            return count_child(sandbox, now), ()
        case ParentEnded(name):  # pragma: no branch - the cases are all
            if sandbox.state in RUNNING:
                return stop_running(sandbox, now, reason=f"Its parent {name} does not run.")
            if sandbox.state in _COMING and sandbox.ready_at is None:
                return destroy(sandbox, now, kept_at=None)
            return sandbox, ()


def check_parent(caller: Principal, parent: Sandbox | None) -> Sandbox:
    """Return the sandbox that a caller inside makes a child of. Raises `Forbidden` unless it may
    have children, `Conflict` when it does not run."""
    inside = None if caller.token is None else caller.token.sandbox_id
    own = parent is not None and (parent.id, parent.org_id, parent.owner) == (
        inside,
        caller.org_id,
        caller.id,
    )
    if parent is None or not own or not caller.may(Capability.SANDBOX_CHILDREN):
        raise Forbidden("this sandbox may make no others")
    if parent.profile.mcp.children is None:
        raise Forbidden(f"the profile of {parent.name} lets it make no sandboxes")
    if parent.state not in RUNNING:
        raise Conflict(f"Sandbox {parent.name} is {parent.state}: it makes no others now.")
    return parent


def check_quota(quota: ChildQuota, head: Sandbox, kin: Iterable[Sandbox], now: datetime) -> None:
    """Check that a family has room for one more. `head` is the first parent, which counts what was
    made, `kin` are sandboxes of its owner. Raises `LimitReached`."""
    live = [one for one in kin if one.state in LIVE and head.id in one.ancestors]
    if len(live) >= quota.live:
        raise LimitReached(
            f"{len(live)} sandboxes of this one live and {quota.live} may: destroy one first",
            code="limit_reached",
        )
    if len(_made_within_hour(head, now)) >= quota.per_hour:
        raise LimitReached(
            f"{quota.per_hour} sandboxes were made within an hour, which is the most: wait",
            code="limit_reached",
        )


def count_child(head: Sandbox, now: datetime) -> Sandbox:
    """Return the first parent of a family in which a child was made."""
    return replace(head, children_made=(*_made_within_hour(head, now), now))


def child_profile(parent: Sandbox) -> Profile:
    """Return the recipe of a child: its parent's, as that is now, without its repositories."""
    profile = parent.profile
    quota = profile.mcp.children
    tools = replace(profile.mcp, children=None if quota is None else quota.of_children)
    return replace(profile, repos=(), mcp=tools)


def child_request(parent: Sandbox, request: CreateSandbox) -> CreateSandbox:
    """Return the request for a child. Raises `Forbidden`, with `field`, for what its parent does
    not have or an agent does not choose."""
    short = parent.profile.id.removeprefix("profile.")
    if request.profile not in ("", short, parent.profile.id):
        raise Forbidden(
            f"a sandbox made from inside has its parent's profile, {short}: leave it out",
            field="profile",
        )
    plain = CreateSandbox()
    for one in fields(CreateSandbox):
        if one.name not in _CHOSEN and getattr(request, one.name) != getattr(plain, one.name):
            raise Forbidden(
                f"a sandbox made from inside takes {one.name} from its parent: leave it out",
                field=one.name,
            )
    return replace(
        plain,
        profile=parent.profile.id,
        name=request.name,
        scope=Scope.SESSION,
        consumer=parent.consumer,
        repos=tuple(_repo(parent, one) for one in request.repos),
        ttl_seconds=_seconds(parent, request),
        task=_task(request.task),
        usual_softlock=request.usual_softlock,
    )


def _task(task: TaskRequest | None) -> TaskRequest | None:
    """Return a task as it was requested. Raises `Forbidden` for what its owner alone decides."""
    if task is not None and (task.group or task.max_working or task.issue):
        raise Forbidden(
            "a sandbox made from inside has no group, no queue and no issue", field="task"
        )
    return task


def child_key(parent: Sandbox, key: str | None) -> str | None:
    """Return the idempotency key of a request from inside, which no key of its owner equals, nor
    one of a sibling."""
    return None if key is None else f"{parent.id}\x1f{key}"


def as_child(parent: Sandbox, made: Sandbox) -> Sandbox:
    """Return a new sandbox as a child of its parent: it ends no later, spends no more, and is
    marked."""
    quota = parent.profile.mcp.children
    return replace(
        made,
        ancestors=(*parent.ancestors, parent.id),
        share=parent.share * (1 if quota is None else quota.live + 1),
        expires_at=min(made.expires_at, parent.expires_at),
        max_expires_at=min(made.max_expires_at, parent.max_expires_at),
        accepts_open_network=parent.accepts_open_network,
    )


def _made_within_hour(head: Sandbox, now: datetime) -> tuple[datetime, ...]:
    return tuple(at for at in head.children_made if now - at < HOUR)


def _seconds(parent: Sandbox, request: CreateSandbox) -> int:
    """Return the requested time to live, by default the one that its parent was given. Raises
    `Invalid` for a longer one."""
    most = min(parent.ttl_seconds, parent.profile.ttl.max_seconds)
    if request.ttl_seconds is not None and request.ttl_seconds > most:
        raise Invalid(
            f"{parent.name} lives {most} seconds, and what is made inside no longer", field="ttl"
        )
    return most if request.ttl_seconds is None else request.ttl_seconds


def _repo(parent: Sandbox, wanted: RepoRequest) -> RepoRequest:
    for there in parent.repos:
        if _is_of(there, wanted.repo_url):
            return replace(
                wanted, repo_url=there.repo_url, key=there.key, sparse=there.sparse, path=None
            )
    raise Forbidden(
        f"{wanted.repo_url[:200]!r} is no repository of {parent.name}: a sandbox made from inside "
        "has those of its parent",
        field="repos",
    )


def _is_of(there: SandboxRepo, url: str) -> bool:
    """Report whether a repository has this address, however it is spelled."""
    if url == there.repo_url:
        return True
    if there.key is not None and is_local_key(there.key):
        # Its address is a label of its person's.
        return False
    known = read_remote(there.repo_url, allow_loopback=True)
    return read_remote(url, allow_loopback=True).key == known.key
