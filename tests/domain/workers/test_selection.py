"""The request of a worker to routes: what it names, what it refuses, and that it fails closed."""

from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.routes.candidate import Candidate
from atoll.domain.routes.decision import Decision, RouteRequest, decide
from atoll.domain.routes.health import Attempt, Health
from atoll.domain.routes.policy import (
    BUILT_IN,
    BUILT_IN_WITH_DESKTOP,
    DEFAULT_EXTENSION,
    DESKTOP,
    Constraints,
    RouteOptions,
    RoutePolicy,
    narrow_policy,
    preferring_desktop,
)
from atoll.domain.workers.create import CreateWorker, WorkerId, judge_create
from atoll.domain.workers.methods import SERVED
from atoll.domain.workers.selection import (
    Selection,
    extension_of,
)
from atoll.wire.words.routes import MAX_NAMED, Breaker, ExecutionMode, Strategy
from atoll.wire.words.walls import IsolationLevel

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WANTED = CreateWorker(WorkerId("w"))
PREFERRED = Strategy.DESKTOP_PREFERRED


def wrong(request: CreateWorker) -> str | None:
    with pytest.raises(Invalid) as found:
        judge_create(request, SERVED)
    return found.value.field


def test_selection_is_asked_of_routes() -> None:
    limits = Constraints(HourlyCost(5), IsolationLevel.CONTAINER, "eu", None, 900, 0.9)
    selection = Selection(("cloudflare_sandbox", "ext.mine"), Strategy.LOWEST_COST, limits, True)
    asked = replace(WANTED, selection=selection, execution_mode=ExecutionMode.SANDBOX).route()
    assert asked == RouteOptions(
        Strategy.LOWEST_COST,
        constraints=replace(limits, execution_mode=ExecutionMode.SANDBOX),
        accept_open_network=True,
        allow=("ext.cloudflare", "ext.mine"),
    )


@pytest.mark.parametrize("strategy", [None, PREFERRED])
def test_preferred_desktop_is_the_usual_policy(strategy: Strategy | None) -> None:
    usual = replace(WANTED, selection=Selection(strategy=strategy))
    assert usual.route() == RouteOptions(prefers_desktop=True)
    assert usual.route() == WANTED.route()


def test_named_backend_or_a_sandbox_prefers_no_desktop() -> None:
    named = replace(WANTED, backend="daytona", selection=Selection(strategy=Strategy.EXPLICIT))
    assert named.route() == RouteOptions(extension="ext.daytona")
    sandbox = replace(WANTED, execution_mode=ExecutionMode.SANDBOX)
    assert not sandbox.route().prefers_desktop


def test_failed_starts_are_not_tried_again() -> None:
    failed = (Attempt("ext.a", "box", NOW, "no"),)
    assert WANTED.route(failed).failed == failed


@pytest.mark.parametrize(
    ("selection", "backend", "field"),
    [
        (Selection(("no such",)), None, "selection.allow"),
        (Selection(("ext.UP",)), None, "selection.allow"),
        (Selection(("../ext.a",)), None, "selection.allow"),
        (Selection(("ext.a",) * (MAX_NAMED + 1)), None, "selection.allow"),
        (Selection(), "No Such", "backend"),
        (Selection(), "ext./etc", "backend"),
        (Selection(strategy=Strategy.EXPLICIT), None, "selection.strategy"),
        (Selection(strategy=Strategy.LOWEST_COST), "daytona", "selection.strategy"),
    ],
)
def test_selection_that_makes_no_sense_names_its_field(
    selection: Selection, backend: str | None, field: str
) -> None:
    assert wrong(replace(WANTED, selection=selection, backend=backend)) == field


def test_default_strategy_may_stand_beside_a_named_backend() -> None:
    judge_create(replace(WANTED, selection=Selection(strategy=PREFERRED), backend="docker"), SERVED)


def test_worker_that_moves_in_selects_nothing() -> None:
    moved = replace(WANTED, workspace_ref="sandbox:sb_a/workspace")
    assert wrong(replace(moved, selection=Selection(("docker",)))) == "selection"


def test_policy_that_somebody_set_takes_a_desktop_only_where_it_says_so() -> None:
    assert preferring_desktop(BUILT_IN) is BUILT_IN_WITH_DESKTOP
    cheap = RoutePolicy(Strategy.LOWEST_COST, ("ext.a", DESKTOP))
    assert preferring_desktop(cheap) == replace(cheap, strategy=PREFERRED)
    for policy in (
        RoutePolicy(Strategy.LOWEST_COST, ("ext.a",)),
        RoutePolicy(Strategy.EXPLICIT, ("ext.a",)),
        RoutePolicy(Strategy.EXPLICIT, (DESKTOP,)),
        RoutePolicy(Strategy.EXPLICIT, (DEFAULT_EXTENSION,)),
    ):
        assert preferring_desktop(policy) == policy


names = ["ext.a", "ext.b", DEFAULT_EXTENSION, DESKTOP]
costs = st.none() | st.builds(HourlyCost, st.integers(0, 5))
limited = st.builds(
    Constraints,
    costs,
    st.none() | st.sampled_from(IsolationLevel),
    st.none() | st.sampled_from(["eu", "us"]),
    st.none(),
    st.none() | st.integers(1, 9),
    st.none() | st.sampled_from([0.0, 0.5, 1.0]),
)
candidates = st.lists(
    st.builds(
        lambda name, host, **more: Candidate(
            name,
            host,
            execution_mode=ExecutionMode.DESKTOP if name == DESKTOP else ExecutionMode.SANDBOX,
            **more,
        ),
        st.sampled_from(names),
        st.sampled_from(["", "x", "y"]),
        region=st.sampled_from(["", "eu-1", "us"]),
        isolation=st.sampled_from(IsolationLevel),
        self_hosted=st.booleans(),
        weak=st.booleans(),
        cost_per_hour=costs,
        health=st.builds(
            Health,
            success=st.none() | st.sampled_from([0.0, 1.0]),
            p50_ms=st.none() | st.integers(1, 9),
            breaker=st.sampled_from(Breaker),
        ),
        obstacles=st.sampled_from([(), ("it is drained",)]),
        unavailable=st.sampled_from(["", "it does not answer"]),
    ),
    max_size=8,
    unique_by=lambda one: (one.extension, one.host, one.region),
)
policies = st.just(BUILT_IN) | st.builds(
    RoutePolicy,
    st.sampled_from([one for one in Strategy if one is not Strategy.EXPLICIT]),
    st.lists(st.sampled_from(names), unique=True).map(tuple),
    limited,
)
failures = st.lists(
    st.builds(
        Attempt, st.sampled_from(names), st.sampled_from(["", "x"]), st.just(NOW), st.just("no")
    ),
    max_size=2,
).map(tuple)
workers = st.builds(
    lambda backend, mode, selection: replace(
        WANTED, backend=backend, execution_mode=mode, selection=selection
    ),
    st.none() | st.sampled_from(["ext.a", "openagents_gcp"]),
    st.none() | st.sampled_from(ExecutionMode),
    st.builds(
        Selection,
        st.lists(st.sampled_from(names), max_size=3).map(tuple),
        st.none() | st.sampled_from(Strategy),
        limited,
    ),
)


LEVELS = list(IsolationLevel)


def keeps(one: Candidate, limits: Constraints) -> bool:
    """Whether a candidate keeps limits, in words of its own: what is unknown keeps none."""
    price, dearest = one.cost_per_hour, limits.max_cost_per_hour
    if dearest is not None and (price is None or price.currency != dearest.currency):
        return False
    if dearest is not None and price is not None and price.micros > dearest.micros:
        return False
    wall = limits.require_isolation or IsolationLevel.NONE
    if LEVELS.index(one.isolation) < LEVELS.index(wall):
        return False
    if one.weak and wall is not IsolationLevel.NONE:
        return False
    region = limits.region
    if region and one.region != region and not one.region.startswith(f"{region}-"):
        return False
    median, share = one.health.p50_ms, one.health.success
    if limits.max_ready_ms is not None and (median is None or median > limits.max_ready_ms):
        return False
    least = limits.min_success
    return least is None or (share is not None and share >= least)


def decided(
    options: RouteOptions, policy: RoutePolicy, found: list[Candidate], *, linked: bool
) -> Decision | None:
    """Decide as routes do; None where they refuse the request."""
    usual = preferring_desktop(policy) if options.prefers_desktop and linked else policy
    try:
        order = narrow_policy(usual, options)
    except Invalid:
        return None
    request = RouteRequest(
        order.strategy,
        extensions=order.extensions,
        only=options.extension,
        limits=(order.constraints, options.constraints),
        desktops=usual.takes_desktops,
        among=options.allow,
        failed=options.failed,
    )
    return decide(request, found)


@given(workers, policies, candidates, failures, st.booleans(), st.randoms(use_true_random=False))
def test_selection_is_deterministic_and_fails_closed(
    wanted: CreateWorker,
    policy: RoutePolicy,
    found: list[Candidate],
    failed: tuple[Attempt, ...],
    linked: bool,
    random: Random,
) -> None:
    decision = decided(wanted.route(failed), policy, found, linked=linked)
    shuffled = [*found]
    random.shuffle(shuffled)
    assert decided(wanted.route(failed), policy, shuffled, linked=linked) == decision
    for one in () if decision is None else decision.fit:
        selection, mode = wanted.selection, wanted.execution_mode
        assert not one.unavailable and not one.obstacles
        assert keeps(one, selection.constraints) and keeps(one, policy.constraints)
        assert not selection.allow or one.extension in map(extension_of, selection.allow)
        assert wanted.backend is None or one.extension == extension_of(wanted.backend)
        assert mode in (None, one.execution_mode)
        assert (one.extension, one.host, one.rented_in) not in {
            (each.extension, each.host, each.region) for each in failed
        }
        own = one.extension == DESKTOP
        assert not own or policy.takes_desktops or (policy is BUILT_IN and linked)


@given(workers, policies, candidates)
def test_preferred_desktop_changes_nothing_without_a_linked_machine(
    wanted: CreateWorker, policy: RoutePolicy, found: list[Candidate]
) -> None:
    here = [one for one in found if one.extension != DESKTOP]
    options = wanted.route()
    plain = replace(options, prefers_desktop=False)
    assert decided(options, policy, here, linked=False) == decided(
        plain, policy, here, linked=False
    )


@given(candidates)
def test_linked_machine_that_is_fit_is_first_where_nobody_set_a_policy(
    found: list[Candidate],
) -> None:
    decision = decided(WANTED.route(), BUILT_IN, found, linked=True)
    assert decision is not None
    modes = [one.execution_mode for one in decision.fit]
    assert modes == sorted(modes, key=lambda mode: mode is not ExecutionMode.DESKTOP)
