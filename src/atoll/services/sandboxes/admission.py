"""Admission: the decision, in one transaction, of whether a request becomes a sandbox.

Limit, name, idempotency key and the one sandbox of an agent are all checked on what the
transaction itself reads, so two hundred requests at once cannot slip past any of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid, LimitReached
from atoll.domain.event import Json
from atoll.domain.ids import SandboxId
from atoll.domain.meters.state import request_facts
from atoll.domain.people.principal import Principal
from atoll.domain.profile.profile import Profile
from atoll.domain.repository.project import DecidedProject
from atoll.domain.routes.decision import Decision
from atoll.domain.routes.record import RouteRecord
from atoll.domain.sandboxes.consumer import acting_consumer, consumer_facts
from atoll.domain.sandboxes.create import (
    Circumstances,
    check_consumer,
    check_references,
    first_repository,
    grant,
    names_branches,
)
from atoll.domain.sandboxes.instruction import Append
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.domain.sandboxes.steps.child import (
    as_child,
    check_parent,
    check_quota,
    child_key,
    child_profile,
    child_request,
)
from atoll.domain.sandboxes.stimulus import ChildMade, Requested
from atoll.domain.sandboxes.task import enqueue_task
from atoll.domain.snapshots.beginning import as_seeded, seeded_request
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.domain.wall.isolation import reaches
from atoll.ports import (
    Extension,
    Holding,
    IdempotencyRecord,
    SandboxQuery,
    Transaction,
    WorkspacePreparer,
)
from atoll.services.contents.disk_returns import DiskReturns
from atoll.services.ground import Ground
from atoll.services.lifecycle.budgets import check_budgets
from atoll.services.lifecycle.pools import take_pooled
from atoll.services.lifecycle.repeated_creates import digest_of, find_belonging, other_request
from atoll.services.lifecycle.room import SandboxRoom
from atoll.services.lifecycle.snapshots import find_profile_seed, find_usable_snapshot
from atoll.services.lifecycle.transitions import Also, Transitions, Work
from atoll.services.policies.network_boundary import NetworkBoundary
from atoll.services.policies.policies import check_secrets, references
from atoll.services.provisioning.compose_file import check_fit, read_named_stack
from atoll.services.provisioning.references import (
    NONE_NAMED,
    References,
    ResolvedReferences,
    names_references,
)
from atoll.services.routes.options import route_choice, route_options
from atoll.services.routes.routing import Routing
from atoll.services.sandboxes.agent_checks import AgentChecks
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.services.webhooks.lifecycle_webhooks import LifecycleWebhooks
from atoll.wire.words.library import ProjectDecision
from atoll.wire.words.walls import IsolationLevel

MAX_LOOKED_AT = 200
"""The sandboxes whose branches are looked at for one that is free."""
KEY_LIFE = timedelta(hours=24)

Admitted = tuple[Sandbox, tuple[Work, ...]]
"""A sandbox and what is to be done for it: nothing when it was there before."""


@dataclass(frozen=True, slots=True)
class _Order:
    """A request with its recipe, and its idempotency key with the digest of the request. `parent`
    is the sandbox from whose inside it comes, `seed` the snapshot that it begins as, `resolved` is
    what its references name, None where its sandbox stands already. `plain` is the request before
    its profile's snapshot completed it, where that names one."""

    request: CreateSandbox
    profile: Profile
    key: str | None
    digest: str
    parent: Sandbox | None = None
    seed: Snapshot | None = None
    resolved: ResolvedReferences | None = NONE_NAMED
    plain: CreateSandbox | None = None

    @property
    def named(self) -> CreateSandbox:
        """The request with what its caller named."""
        return self.plain or self.request


class ProfileSource(Protocol):
    """Profiles that a caller may use."""

    async def get(self, caller: Principal, ref: str, *, version: str | None = None) -> Profile:
        """Return a profile, the newest version when none is given. Raises `NotFound`."""
        ...

    def check_reachability(self, profile: Profile) -> None:
        """Raise `Invalid` for a tunnel or identity that no setting has."""
        ...


class Admission:
    """Admission of requests, which become stored sandboxes."""

    def __init__(
        self,
        ground: Ground,
        transitions: Transitions,
        profiles: ProfileSource,
        *,
        room: SandboxRoom,
        boundary: NetworkBoundary,
        routing: Routing,
        extensions: Mapping[str, Extension],
        agents: AgentChecks,
        workspaces: WorkspacePreparer,
        disks: DiskReturns,
        lifecycle_webhooks: LifecycleWebhooks,
        settings: AdmissionSettings,
    ) -> None:
        self._ground = ground
        self._transitions = transitions
        self._room = room
        self.boundary = boundary
        self._routing = routing
        self.profiles = profiles
        self._extensions = extensions
        self.agents = agents
        self._workspaces = workspaces
        self._references = References(workspaces, allow_loopback=settings.allow_loopback_remotes)
        self._disks = disks
        self._lifecycle_webhooks = lifecycle_webhooks
        self._settings = settings

    async def admit(
        self,
        caller: Principal,
        request: CreateSandbox,
        *,
        key: str | None,
        also: Also | None = None,
    ) -> Admitted:
        """Store the sandbox, or find the one that a repeated key or an agent already has. `also`
        changes more in the transaction that does so. Raises `Invalid`, `NotFound` (profile,
        uploaded repository), `Forbidden` (agent), `Conflict` (also when no host has room, and code
        `snapshot_elsewhere`), `LimitReached`."""
        check_references(request)
        order = await self._prepare(caller, request, key)
        request, profile = order.request, order.profile
        self.profiles.check_reachability(profile)
        if order.parent is None:
            check_consumer(request, profile)
        self.agents.check_catalogue(request, profile)
        await self._workspaces.check_starts(caller.org_id, request.repos)
        agent, prompted = request.agent or profile.agent, request.task is not None
        await self.agents.check_offered(agent, prompted=prompted)
        await self._lifecycle_webhooks.check(caller, request.lifecycle_webhook)
        if names_references(request):
            order = replace(order, resolved=await self._resolve(caller, order))
        await self._routing.examine()
        async with self._ground.store.begin() as rows:
            sandbox, work = await self._admit_within(rows, caller, order)
            if also is not None:
                await also(rows, sandbox)
        self._lifecycle_webhooks.announce(sandbox)
        return sandbox, work

    async def _resolve(self, caller: Principal, order: _Order) -> ResolvedReferences | None:
        """Resolve the references of a request, unless what it asks for stands: that stays as it
        is, whatever became of them. Raises `Invalid`, `Unavailable` and `Conflict`."""
        async with self._ground.store.read() as rows:
            held = await rows.sandboxes.held(caller.org_id, caller.id)
            if await self._find_standing(rows, caller, order, held=held) is not None:
                return None
        circumstances = self._circumstances(caller, frozenset())
        return await self._references.resolve(grant(order.request, order.profile, circumstances))

    async def _admit_within(self, rows: Transaction, caller: Principal, order: _Order) -> Admitted:
        """Admit a request within a transaction."""
        held = await rows.sandboxes.held(caller.org_id, caller.id)
        standing = await self._find_standing(rows, caller, order, held=held)
        if standing is not None:
            return standing, ()
        if order.resolved is None:
            raise Conflict("The sandbox that stood for this request has ended: ask once more.")
        self._check_limit(held)
        sandbox, work = await self._add(rows, caller, order, held=held)
        if order.key is not None:
            record = IdempotencyRecord(order.digest, sandbox.id, self._ground.clock.now())
            await rows.idempotency.forget(record.at - KEY_LIFE)
            await rows.idempotency.put(caller.org_id, caller.id, key=order.key, record=record)
        return sandbox, work

    async def _prepare(self, caller: Principal, request: CreateSandbox, key: str | None) -> _Order:
        """Return a request with its recipe: the named profile, or for a caller inside a sandbox the
        one of that."""
        digest = "" if key is None else digest_of(key, request)
        inside = None if caller.token is None else caller.token.sandbox_id
        if inside is None and request.seed is not None:
            async with self._ground.store.read() as rows:
                seed = await find_usable_snapshot(rows, caller, request.seed.snapshot)
            await self._disks.check_in_reach(seed)
            seeded = seeded_request(caller.id, seed, request)
            return _Order(seeded, seed.source.profile, key, digest, seed=seed)
        if inside is None:
            version = request.profile_version
            profile = await self.profiles.get(caller, request.profile, version=version)
            completed, usual = await self._begin_as_profiled(caller, request, profile)
            plain = None if usual is None else request
            return _Order(completed, profile, key, digest, seed=usual, plain=plain)
        async with self._ground.store.read() as rows:
            parent = check_parent(caller, await rows.sandboxes.get(inside))
        own = child_request(parent, request)
        return _Order(own, child_profile(parent), child_key(parent, key), digest, parent)

    async def _begin_as_profiled(
        self, caller: Principal, request: CreateSandbox, profile: Profile
    ) -> tuple[CreateSandbox, Snapshot | None]:
        """Return a request completed by the snapshot that its profile names, and that snapshot; the
        request alone where it names none."""
        if profile.seed is None:
            return request, None
        async with self._ground.store.read() as rows:
            seed = await find_profile_seed(rows, caller, profile)
        await self._disks.check_in_reach(seed)
        return seeded_request(caller.id, seed, request, profile), seed

    async def explain(self, caller: Principal, request: CreateSandbox) -> Decision:
        """Return the decision that a create would make now; nothing is stored. Raises what `admit`
        raises, but for a decision that chooses nothing."""
        check_references(request)
        profile = await self.profiles.get(caller, request.profile, version=request.profile_version)
        self.profiles.check_reachability(profile)
        request, seed = await self._begin_as_profiled(caller, request, profile)
        self.agents.check_catalogue(request, profile)
        await self._workspaces.check_starts(caller.org_id, request.repos)
        granted = grant(request, profile, self._circumstances(caller, frozenset()))
        stack = await read_named_stack(granted, self._workspaces)
        await self._routing.examine()
        async with self._ground.store.read() as rows:
            await self._check_network(rows, caller, granted, request)
            allowed = await self._room.take(rows, granted)
            options, host = route_choice(request, granted, seed)
            decision = await self._routing.decide(rows, allowed, options, host=host)
        if decision.chosen is not None:
            check_fit(allowed, stack)
        return decision

    async def place_worker(
        self, caller: Principal, request: CreateSandbox, *, walled: bool
    ) -> Decision:
        """Return the decision about a worker, whose candidates are desktops, too. Unless `walled`
        its profile requires no wall: nobody named one, and only rules of routes can. Raises as
        `explain`."""
        profile = await self.profiles.get(caller, request.profile, version=request.profile_version)
        if not walled:
            profile = replace(profile, isolation=IsolationLevel.NONE)
        granted = grant(request, profile, self._circumstances(caller, frozenset()))
        await self._routing.examine()
        async with self._ground.store.read() as rows:
            await self._check_network(rows, caller, granted, request)
            options = route_options(request, granted)
            return await self._routing.decide(
                rows, granted, options, host=request.host, worker=True, names_profile=walled
            )

    async def _find_standing(
        self, rows: Transaction, caller: Principal, order: _Order, *, held: Sequence[Holding]
    ) -> Sandbox | None:
        """Return the sandbox that this request, or its agent, has already. Raises `Conflict` for
        one that was made otherwise."""
        earlier = await self._find_earlier(rows, caller, order)
        if earlier is not None:
            return earlier
        return await find_belonging(rows, order.profile, request=order.named, held=held)

    async def _find_earlier(
        self, rows: Transaction, caller: Principal, order: _Order
    ) -> Sandbox | None:
        if order.key is None:
            return None
        record = await rows.idempotency.get(caller.org_id, caller.id, order.key)
        if record is None or record.at < self._ground.clock.now() - KEY_LIFE:
            return None
        sandbox = await rows.sandboxes.get(record.sandbox_id)
        if record.digest == order.digest:
            return sandbox
        field = None if sandbox is None else await other_request(rows, order.named, sandbox)
        raise Conflict(
            "This Idempotency-Key was used for a different request"
            f"{f', with another {field}' if field else ''}: use a new one.",
            code="idempotency_mismatch",
            field=field or "Idempotency-Key",
        )

    async def _add(
        self, rows: Transaction, caller: Principal, order: _Order, *, held: Sequence[Holding]
    ) -> Admitted:
        """Insert the sandbox as requested and starting: both events in one transaction."""
        sandbox, route = await self._place(rows, caller, order, held=held)
        await check_budgets(rows, sandbox, sandbox.created_at)
        if references(sandbox):
            check_secrets(sandbox, await rows.secrets.visible(caller.org_id, caller.id))
        await self._lifecycle_webhooks.begin(rows, sandbox, caller)
        extra: dict[str, Json] = {
            "profile": order.profile.id,
            "extension": sandbox.profile.extension,
            "host": sandbox.host,
            "route_id": route.id,
        }
        extra |= request_facts(sandbox, self._settings.default_limits)
        extra |= consumer_facts(caller, sandbox.consumer)
        for name, origin in (("seed", sandbox.seed), ("parent", sandbox.parent)):
            if origin is not None:
                extra[name] = origin
        actor = acting_consumer(caller, sandbox.consumer)
        event = Append("sandbox.requested", None, extra)
        await rows.routes.put(route)
        task, max_working = sandbox.task, self._settings.max_working
        if task is not None and (task.max_working or max_working):
            # `TaskQueue` starts it, at once where there is a place.
            waiting = replace(sandbox, task=enqueue_task(task, task.max_working or max_working))
            await rows.sandboxes.insert(waiting)
            return waiting, await self._transitions.append(rows, ((waiting, event),), actor=actor)
        begun, instructions = step(sandbox, Requested(), sandbox.created_at)
        await rows.sandboxes.insert(begun)
        work = await self._transitions.append(
            rows,
            ((sandbox, event), *((begun, instruction) for instruction in instructions)),
            actor=actor,
        )
        return begun, work

    async def _place(
        self, rows: Transaction, caller: Principal, order: _Order, *, held: Sequence[Holding]
    ) -> tuple[Sandbox, RouteRecord]:
        """Return the sandbox in its place, and the record of why it is there."""
        request, taken = order.request, frozenset(holding.name for holding in held)
        names_all = names_branches(request, order.profile)
        branches = frozenset[str]() if names_all else await _branches(rows, caller)
        resolved = order.resolved or NONE_NAMED
        known = self._circumstances(caller, taken, resolved.instructions)
        if order.parent is not None:
            parent = await self._family(rows, caller, order.parent, known.now)
            known = replace(known, branches=branches)
            child = as_child(parent, grant(request, child_profile(parent), known))
            return await self._routing.place_child(rows, await self._room.take(rows, child), parent)
        if order.seed is not None:
            return await self._place_seeded(rows, caller, order, replace(known, branches=branches))
        project = await _find_approved_project(rows, caller, request, order.profile)
        circumstances = replace(known, project=project, branches=branches)
        granted = grant(request, order.profile, circumstances)
        await self._check_network(rows, caller, granted, request)
        allowed = await self._room.take(rows, granted)
        options = route_options(request, granted)
        placed, route = await self._routing.place(rows, allowed, options, host=request.host)
        check_fit(placed, resolved.stack)
        if request.task is not None and self._settings.max_working:
            return placed, route  # it may wait: nothing of a pool waits with it
        placed = await take_pooled(rows, placed, placed.created_at)
        return placed, replace(route, sandbox_id=placed.id)

    async def _place_seeded(
        self, rows: Transaction, caller: Principal, order: _Order, known: Circumstances
    ) -> tuple[Sandbox, RouteRecord]:
        """Return a sandbox that begins as a snapshot, where that is kept, and its route."""
        request = order.request
        if order.seed is None or request.seed is None:
            raise Invalid("no snapshot was named", field="seed")
        seed = await find_usable_snapshot(rows, caller, order.seed.id)
        made = as_seeded(grant(request, order.profile, known), seed, request.seed)
        await self._check_network(rows, caller, made, request)
        allowed = await self._room.take(rows, made)
        if order.plain is None:
            return await self._routing.place_child(rows, allowed, seed.source)
        options, host = route_choice(request, made, seed)
        return await self._routing.place(rows, allowed, options, host=host)

    async def _family(
        self, rows: Transaction, caller: Principal, parent: Sandbox, now: datetime
    ) -> Sandbox:
        """Return a parent as it is now, and count one more child of its family. Raises
        `LimitReached` beyond its quota."""
        parent = check_parent(caller, await rows.sandboxes.get(parent.id))
        head = await rows.sandboxes.get((*parent.ancestors, parent.id)[0])
        quota = parent.profile.mcp.children
        if head is None or quota is None:
            raise Forbidden(f"the family of {parent.name} has ended: it makes no sandboxes")
        kin = await rows.sandboxes.unfinished(parent.org_id, parent.owner)
        check_quota(quota, head, kin, now)
        await self._transitions.apply_within(rows, head, ChildMade())
        return parent

    def _circumstances(
        self, caller: Principal, taken: frozenset[str], instructions: str | None = None
    ) -> Circumstances:
        return Circumstances(
            caller=caller,
            now=self._ground.clock.now(),
            taken=taken,
            sandbox_id=SandboxId(self._ground.ids.new("sb")),
            allow_loopback=self._settings.allow_loopback_remotes,
            mount_roots=self._settings.mount_roots,
            instructions=instructions,
        )

    async def _check_network(
        self, rows: Transaction, caller: Principal, wanted: Sandbox, request: CreateSandbox
    ) -> None:
        """Check that a sandbox opens no more than its caller may. Raises `Forbidden`."""
        await self.boundary.check_profile(rows, caller, wanted.profile)
        accepts = request.route.accept_open_network
        await self.boundary.check_open(rows, caller, accepts=accepts)

    def _check_limit(self, held: Sequence[Holding]) -> None:
        most = self._settings.max_sandboxes
        if len(held) >= most:
            raise LimitReached(
                f"You have {len(held)} sandboxes and may have {most}: destroy one, or have "
                "max_sandboxes raised.",
                code="limit_reached",
            )

    async def obstacle(self, profile: Profile) -> str | None:
        """Return why no sandbox can be made from this profile here; None when one can."""
        try:
            await self.agents.check_offered(profile.agent)
            self.profiles.check_reachability(profile)
            return self._profile_obstacle(profile)
        except AtollError as error:
            return error.message

    def _profile_obstacle(self, profile: Profile) -> str | None:
        """Return why no backend that a profile names could ever take its sandboxes."""
        named = (profile.extension,) if profile.extension else ()
        names = named if profile.route is None else profile.route.extensions
        reasons = {name: self._backend_obstacle(name, profile) for name in names}
        if not reasons or None in reasons.values():
            return None
        return "; ".join(f"{name}: {why}" for name, why in reasons.items())

    def _backend_obstacle(self, name: str, profile: Profile) -> str | None:
        """Return why a backend could never take a sandbox of a profile."""
        extension = self._extensions.get(name)
        if extension is None:
            have = ", ".join(sorted(self._extensions)) or "none"
            return f"this Atoll does not have it (it has: {have})"
        given = extension.capabilities().isolation
        for required in (self._settings.require_isolation, profile.isolation):
            if required is not None and not reaches(given, required):
                return f"its isolation is {given}, and {required} is needed"
        return None


async def _find_approved_project(
    rows: Transaction, caller: Principal, request: CreateSandbox, profile: Profile
) -> DecidedProject | None:
    """Return the project that the request names, as its person approved it. Raises `Conflict` when
    they did not."""
    if request.project is None:
        return None
    repository = first_repository(request, profile)
    if repository is None:
        raise Invalid("a project needs a repository: name one in `repos`", field="project")
    for decided in await rows.projects.of(caller.org_id, caller.id, repository):
        wanted = decided.digest == request.project.digest
        if wanted and decided.decision is ProjectDecision.APPROVED:
            return decided
    raise Conflict(
        f"What {repository} proposes was not approved: look at it with `atoll project show` and "
        "approve it, or leave the project out.",
        code="project_not_approved",
        field="project.digest",
    )


async def _branches(rows: Transaction, caller: Principal) -> frozenset[str]:
    """Return the branches of the caller's newest sandboxes."""
    query = SandboxQuery(caller.org_id, caller.id, limit=MAX_LOOKED_AT)
    page = await rows.sandboxes.page(query)
    return frozenset(repo.branch for sandbox in page for repo in sandbox.repos if repo.branch)
