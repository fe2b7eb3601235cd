"""Routing: the decision of where a sandbox goes, made in the transaction that admits it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atoll.domain.ids import OrgId, RouteId
from atoll.domain.profile.profile import Profile
from atoll.domain.profile.route import extension_name, policy_of
from atoll.domain.routes.candidate import Need, image_kind
from atoll.domain.routes.decision import Decision, RouteRequest, decide, no_route
from atoll.domain.routes.policy import (
    BUILT_IN,
    BUILT_IN_WITH_DESKTOP,
    DESKTOP,
    NO_OPTIONS,
    Constraints,
    RouteOptions,
    RoutePolicy,
    RouteRules,
    narrow_policy,
    preferring_desktop,
)
from atoll.domain.routes.record import RouteRecord
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Extension, Transaction
from atoll.services.ground import Ground
from atoll.services.routes.candidates import Candidates, Placing
from atoll.wire.words.routes import ExecutionMode, Strategy
from atoll.wire.words.walls import IsolationLevel


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that hold for an organization: its own, and the installation's."""

    organization: RouteRules
    installation: RouteRules

    @property
    def default(self) -> RoutePolicy:
        """The policy of profiles that have none."""
        return self.organization.default or self.installation.default or BUILT_IN

    @property
    def allowed(self) -> tuple[tuple[str, ...], ...]:
        """The lists of backends that are allowed."""
        both = (self.organization.allow, self.installation.allow)
        return tuple(names for names in both if names is not None)


class Routing:
    """Decisions for sandboxes. `required` is the isolation that the installation requires."""

    def __init__(
        self, ground: Ground, candidates: Candidates, *, required: IsolationLevel | None
    ) -> None:
        self._ground = ground
        self._candidates = candidates
        self._required = required

    async def examine(self) -> None:
        """Have every backend find out what its machine gives, before a transaction that decides."""
        await self._candidates.examine()

    async def decide(
        self,
        rows: Transaction,
        sandbox: Sandbox,
        options: RouteOptions,
        *,
        host: str | None,
        worker: bool = False,
        names_profile: bool = False,
    ) -> Decision:
        """Return the decision for a sandbox that is about to be made, or for a worker, whose
        request may name its profile. Raises `Invalid` for one that its policy excludes."""
        rules = await rules_of(rows, sandbox.org_id)
        usual = policy_of(sandbox.profile, rules.default)
        preferred = options.prefers_desktop or (worker and options.extension == DESKTOP)
        if preferred and await self._candidates.has_desktop(sandbox):
            usual = preferring_desktop(usual)
        policy = narrow_policy(usual, options)
        installed = self._candidates.installed
        # A default is nobody's choice: one by name is made among all that are on and allowed.
        bound = options.extension is None or _names_backends(sandbox.profile)
        named = canonical(policy.extensions, installed) if bound else ()
        only = None if options.extension is None else canonical((options.extension,), installed)[0]
        request = RouteRequest(
            strategy=policy.strategy,
            need=_need(sandbox.profile, options),
            extensions=named,
            only=only,
            allowed=tuple(canonical(each, installed) for each in rules.allowed),
            limits=_limits(policy.constraints, options.constraints, self._required),
            host=host,
            desktops=usual.takes_desktops,
            among=canonical(options.allow, installed),
            failed=options.failed,
            takes_ailing=usual in (BUILT_IN, BUILT_IN_WITH_DESKTOP),
        )
        # One that the policy does not name is judged too, so that its reason is told.
        names = named if only is None else tuple(dict.fromkeys((*named, only)))
        placing = Placing(
            sandbox,
            host,
            request.need.fields,
            desktops=_about_desktops(request),
            worker=worker,
            names_profile=names_profile,
        )
        candidates = await self._candidates.of(rows, placing, names, beside=request.among)
        return decide(request, candidates)

    async def elsewhere(self, rows: Transaction, sandbox: Sandbox) -> Decision:
        """Return the decision for another host of a sandbox's own backend: what it was placed by
        still holds. A caller's choice of a host leaves no other."""
        request = await self._as_placed(rows, sandbox)
        placing = Placing(sandbox, request.host, request.need.fields)
        candidates = await self._candidates.of(rows, placing, (sandbox.profile.extension,))
        return decide(
            request, [candidate for candidate in candidates if candidate.host != sandbox.host]
        )

    async def beside(self, rows: Transaction, sandbox: Sandbox, parent: Sandbox) -> Decision:
        """Return the decision for a child: where its parent is, under the limits that placed it."""
        placed = await self._as_placed(rows, parent)
        region = Constraints(region=parent.region) if parent.region else Constraints()
        request = replace(
            placed,
            host=parent.host or None,
            limits=tuple(limit for limit in (*placed.limits, region) if limit != Constraints()),
        )
        placing = Placing(sandbox, request.host, request.need.fields)
        return decide(
            request, await self._candidates.of(rows, placing, (parent.profile.extension,))
        )

    async def _as_placed(self, rows: Transaction, sandbox: Sandbox) -> RouteRequest:
        """Return the request that placed a sandbox, for its own backend under today's rules."""
        record = None if sandbox.route is None else await rows.routes.get(sandbox.route)
        if record is None:
            limits = _limits(Constraints(), Constraints(), self._required)
            placed = RouteRequest(
                Strategy.PREFER_SELF_HOSTED, _need(sandbox.profile, NO_OPTIONS), limits=limits
            )
        else:
            placed = replace(record.decision.request, strategy=Strategy.PREFER_SELF_HOSTED)
        rules = await rules_of(rows, sandbox.org_id)
        allowed = tuple(canonical(each, self._candidates.installed) for each in rules.allowed)
        name = sandbox.profile.extension
        return replace(placed, extensions=(), only=name, allowed=allowed, failed=())

    async def place(
        self, rows: Transaction, sandbox: Sandbox, options: RouteOptions, *, host: str | None
    ) -> tuple[Sandbox, RouteRecord]:
        """Return the sandbox with its backend and its host, and the record to store. Raises
        `Conflict` with every candidate's reasons."""
        decision = await self.decide(rows, sandbox, options, host=host)
        agreed = replace(sandbox, accepts_open_network=options.accept_open_network)
        return self._place_sandbox(agreed, decision, options)

    async def place_child(
        self, rows: Transaction, sandbox: Sandbox, parent: Sandbox
    ) -> tuple[Sandbox, RouteRecord]:
        """Return the same for a child, beside its parent. Raises `Conflict`."""
        return self._place_sandbox(sandbox, await self.beside(rows, sandbox, parent), NO_OPTIONS)

    def _place_sandbox(
        self, sandbox: Sandbox, decision: Decision, options: RouteOptions
    ) -> tuple[Sandbox, RouteRecord]:
        """Return a sandbox at the chosen place, and the record of its route. Raises `NoRoute`."""
        chosen = decision.chosen
        if chosen is None:
            raise no_route(decision, field="host" if decision.request.host else "route")
        record = RouteRecord(
            RouteId(self._ground.ids.new("rt")),
            sandbox.id,
            sandbox.org_id,
            sandbox.owner,
            self._ground.clock.now(),
            decision,
            options.failed,
        )
        profile = replace(sandbox.profile, extension=chosen.extension)
        placed = replace(
            sandbox,
            profile=profile,
            host=chosen.host,
            region=chosen.rented_in,
            route=record.id,
        )
        return placed, record


async def rules_of(rows: Transaction, org_id: OrgId) -> Rules:
    """Return the rules that hold for an organization."""
    return Rules(await rows.routes.rules(org_id), await rows.routes.rules(None))


def canonical(names: Sequence[str], installed: Mapping[str, Extension]) -> tuple[str, ...]:
    """Return the names that extensions call themselves by; an alias or a short name stands for its
    extension. Raises `Invalid` for what names none."""
    whole = [name if name in installed else extension_name(name) for name in names]
    return tuple(
        dict.fromkeys(installed[name].name if name in installed else name for name in whole)
    )


def _names_backends(profile: Profile) -> bool:
    """Report whether a profile says which backends it takes."""
    return bool(profile.extension if profile.route is None else profile.route.extensions)


def _about_desktops(request: RouteRequest) -> bool:
    """Report whether a desktop is judged though no backend for one is installed."""
    modes = {limits.execution_mode for limits in request.limits}
    preferred = request.strategy is Strategy.DESKTOP_PREFERRED
    return request.desktops or preferred or ExecutionMode.DESKTOP in modes


def _need(profile: Profile, options: RouteOptions) -> Need:
    return Need(
        isolation=profile.isolation,
        image=image_kind(profile.image),
        closed_network=not options.accept_open_network,
        resources=profile.resources,
        fields=options.fields,
    )


def _limits(
    policy: Constraints, asked: Constraints, required: IsolationLevel | None
) -> tuple[Constraints, ...]:
    each = (policy, asked, Constraints(require_isolation=required))
    return tuple(limit for limit in each if limit != Constraints())
