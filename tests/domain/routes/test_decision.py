from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.hosts.host import HourlyCost
from atoll.domain.routes.candidate import (
    COMPOSE_REF,
    Candidate,
    ImageKind,
    Need,
    breaches,
    find_shortfalls,
    image_kind,
    spell_price,
)
from atoll.domain.routes.decision import (
    Decision,
    RouteRequest,
    decide,
    decide_again,
    no_route,
    place,
    refusal,
)
from atoll.domain.routes.health import Attempt, Health
from atoll.domain.routes.policy import DESKTOP, Constraints
from atoll.domain.wall.resources import Resources
from atoll.testing.samples import NOW
from atoll.wire.words.routes import Breaker, ExecutionMode, Strategy
from atoll.wire.words.walls import IsolationLevel

CONTAINER, MICROVM = IsolationLevel.CONTAINER, IsolationLevel.MICROVM
OURS = Candidate("ext.ours", "local", "local", isolation=CONTAINER)
BOX = replace(OURS, extension="ext.ssh", host="box", region="eu-1")
RENTED = Candidate(
    "ext.rented",
    region="eu",
    isolation=MICROVM,
    self_hosted=False,
    gpus=frozenset({"h100"}),
    cost_per_hour=HourlyCost(120_000),
)
PREFER = RouteRequest(Strategy.PREFER_SELF_HOSTED)


def names(decision: Decision) -> list[str]:
    return [one.extension for one in decision.fit]


def why(candidate: Candidate, **limits: object) -> list[str]:
    return list(breaches(candidate, Constraints(**limits)))  # type: ignore[arg-type]


def test_our_own_machines_come_first_then_declared_order_then_names() -> None:
    assert names(decide(PREFER, (RENTED, BOX, OURS))) == ["ext.ours", "ext.ssh", "ext.rented"]
    declared = replace(PREFER, extensions=("ext.rented", "ext.ssh", "ext.ours"))
    assert names(decide(declared, (OURS, RENTED, BOX))) == ["ext.ssh", "ext.ours", "ext.rented"]
    first, second = replace(BOX, host="a", order=1), replace(BOX, host="b", order=0)
    assert decide(PREFER, (first, second)).chosen == second


def test_the_cheapest_comes_first_and_an_unknown_price_last() -> None:
    cheap = replace(BOX, cost_per_hour=HourlyCost(1))
    foreign = replace(OURS, extension="ext.z", cost_per_hour=HourlyCost(0, "EUR"))
    request = RouteRequest(Strategy.LOWEST_COST)
    found = decide(request, (OURS, RENTED, cheap, foreign))
    assert names(found) == ["ext.ssh", "ext.rented", "ext.ours", "ext.z"]
    euro = replace(request, limits=(Constraints(max_cost_per_hour=HourlyCost(5, "EUR")),))
    assert names(decide(euro, (OURS, RENTED, cheap, foreign))) == ["ext.z"]


def test_the_fastest_as_measured_comes_first() -> None:
    fast = replace(RENTED, health=Health(1, 1.0, 90, 90))
    slow = replace(BOX, health=Health(1, 1.0, 900, 900))
    request = RouteRequest(Strategy.LOWEST_LATENCY)
    assert names(decide(request, (OURS, slow, fast))) == ["ext.rented", "ext.ssh", "ext.ours"]


def test_one_that_was_named_is_tried_even_while_its_breaker_is_open() -> None:
    ill = replace(OURS, health=Health(9, 0.0, None, None, Breaker.OPEN))
    assert decide(PREFER, (ill,)).chosen is None
    explicit = RouteRequest(Strategy.EXPLICIT, only="ext.ours")
    found = decide(explicit, (ill, BOX))
    assert (found.explicit, found.chosen) == (True, ill)
    assert found.verdicts[1].reasons == ("ext.ours was asked for",)


def test_no_candidate_gets_around_the_lists_of_the_policy_and_the_organization() -> None:
    request = replace(PREFER, extensions=("ext.ours", "ext.ssh"), allowed=(("ext.ssh",),))
    found = decide(request, (OURS, BOX, RENTED))
    assert names(found) == ["ext.ssh"]
    reasons = {one.candidate.extension: one.reasons for one in found.verdicts}
    assert reasons["ext.ours"] == ("it is not allowed here",)
    assert reasons["ext.rented"] == ("the route does not name it", "it is not allowed here")


def test_what_the_caller_left_out_and_what_failed_before_is_said() -> None:
    failed = (Attempt("ext.ssh", "box", NOW, "its agent did not start: no"),)
    request = replace(PREFER, among=("ext.ours", "ext.ssh"), failed=failed)
    found = decide(request, (OURS, BOX, RENTED))
    assert names(found) == ["ext.ours"]
    reasons = {one.candidate.extension: one.reasons for one in found.verdicts}
    assert reasons["ext.rented"] == ("the request does not allow it",)
    assert reasons["ext.ssh"] == ("it was tried: its agent did not start: no",)


def test_what_a_sandbox_needs_and_a_backend_cannot_give_is_said() -> None:
    need = Need(
        MICROVM,
        ImageKind.HOST,
        True,
        frozenset({"pause"}),
        Resources(cpu=8, memory_mb=9000, workspace_mb=100),
    )
    weak = replace(
        OURS,
        images=frozenset({ImageKind.OTHER}),
        closes_network=False,
        limits=Resources(cpu=4, memory_mb=8000, workspace_mb=200),
    )
    assert list(find_shortfalls(weak, need)) == [
        "its isolation is container, and microvm is needed",
        "it cannot show the machine's own /usr",
        "it cannot close its network",
        "it lacks pause",
        "it gives at most 4 cores, and 8 are needed",
        "it gives at most 8000 MiB of memory, and 9000 are needed",
    ]
    bare = replace(OURS, images=frozenset({ImageKind.HOST}))
    assert list(find_shortfalls(bare, Need(image=image_kind("debian:12")))) == [
        "it cannot show an image"
    ]
    assert not list(find_shortfalls(OURS, Need(image=image_kind("host"))))


def test_each_limit_is_judged_and_the_unknown_keeps_none() -> None:
    dear = HourlyCost(100_000)
    assert why(OURS, max_cost_per_hour=dear) == ["its price is not declared"]
    assert why(RENTED, max_cost_per_hour=dear) == [
        "an hour costs 0.12 USD, and at most 0.1 USD is allowed"
    ]
    assert why(RENTED, max_cost_per_hour=HourlyCost(1, "EUR")) == [
        "its price is in USD, and the limit in EUR"
    ]
    assert not why(RENTED, max_cost_per_hour=HourlyCost(120_000))
    assert why(OURS, require_isolation=MICROVM) == [
        "its isolation is container, and microvm is required"
    ]
    assert not why(BOX, region="eu")
    assert not why(BOX, region="eu-1")
    assert why(BOX, region="e") == ["its region is eu-1, not e"]
    assert why(Candidate("ext.x"), region="eu") == ["its region is unknown, not eu"]
    assert not why(RENTED, gpu="any")
    assert not why(RENTED, gpu="h100")
    assert why(RENTED, gpu="a100") == ["it has no GPU a100"]
    assert why(OURS, gpu="any") == ["it has no GPU"]
    assert why(OURS, max_ready_ms=10, min_success=0.5) == [
        "it was not measured how soon it is ready",
        "it was not measured how often it succeeds",
    ]
    measured = replace(OURS, health=Health(4, 0.25, 20, 30))
    assert why(measured, max_ready_ms=10, min_success=0.5) == [
        "it is ready after 20 ms, and 10 are allowed",
        "25% of its attempts succeed, and 50% are asked",
    ]
    assert not why(measured, max_ready_ms=20, min_success=0.25)


def test_refusal_of_one_that_the_route_does_not_name_says_how_to_have_it() -> None:
    asked = replace(PREFER, extensions=("ext.ours",), only="ext.rented")
    assert refusal(decide(asked, (OURS, RENTED))).endswith(
        "; a choice narrows the route and never widens it: take a profile whose extension is "
        "ext.rented"
    )
    assert "narrows" not in refusal(decide(replace(asked, extensions=()), (OURS,)))


def test_refusal_tells_every_reason_once() -> None:
    limits = (Constraints(gpu="any"), Constraints(gpu="any", region="us"))
    found = decide(replace(PREFER, limits=limits), (OURS, RENTED, Candidate("ext.x")))
    assert found.chosen is None
    assert refusal(found) == (
        "no backend takes this sandbox (ext.ours on local: it has no GPU, its region is local, "
        "not us; ext.x: it has no GPU, its region is unknown, not us; ext.rented in eu: its region "
        "is eu, not us)"
    )
    assert refusal(decide(PREFER, ())) == "no backend is there that could take this sandbox"
    assert place(BOX) == "ext.ssh on box"
    assert spell_price(HourlyCost(5, "EUR")) == "0.000005 EUR"
    assert spell_price(HourlyCost(12_345_678)) == "12.345678 USD"
    assert [spell_price(HourlyCost(micros)) for micros in (0, 10_000_000)] == ["0 USD", "10 USD"]


def test_persons_own_machine_is_taken_by_a_policy_that_says_so_and_never_behind_a_wall() -> None:
    desk = Candidate(DESKTOP, "laptop", execution_mode=ExecutionMode.DESKTOP)
    preferred = RouteRequest(Strategy.DESKTOP_PREFERRED, desktops=True)
    assert names(decide(preferred, (OURS, desk, RENTED))) == [DESKTOP, "ext.ours", "ext.rented"]
    assert names(decide(PREFER, (OURS, desk))) == ["ext.ours"]
    (verdict,) = decide(PREFER, (desk,)).verdicts
    assert verdict.reasons == ("the policy does not take people's own machines",)
    walled = replace(preferred, need=Need(CONTAINER))
    assert names(decide(walled, (OURS, desk))) == ["ext.ours"]
    asked = "its execution mode is sandbox, and desktop is asked"
    assert why(OURS, execution_mode=ExecutionMode.DESKTOP) == [asked]
    assert not why(desk, execution_mode=ExecutionMode.DESKTOP)


def test_weak_wall_keeps_no_required_isolation() -> None:
    weak = Candidate("ext.weak", isolation=CONTAINER, weak=True)
    for wanted in (IsolationLevel.POLICY, CONTAINER):
        assert why(weak, require_isolation=wanted) == [
            f"its wall is weak, and {wanted} is required"
        ]
        assert not why(replace(weak, weak=False), require_isolation=wanted)
    assert not why(weak, require_isolation=IsolationLevel.NONE)
    assert why(weak, require_isolation=IsolationLevel.MICROVM) == [
        "its isolation is container, and microvm is required"
    ]


prices = st.none() | st.builds(HourlyCost, st.integers(0, 5), st.sampled_from(["USD", "EUR"]))
healths = st.builds(
    Health,
    st.integers(0, 9),
    st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    st.none() | st.integers(1, 9),
    st.none(),
    st.sampled_from(Breaker),
)
candidates = st.lists(
    st.builds(
        Candidate,
        st.sampled_from(["ext.a", "ext.b", "ext.c"]),
        st.sampled_from(["", "x", "y"]),
        st.sampled_from(["", "eu", "eu-1", "us"]),
        st.integers(0, 3),
        st.sampled_from(IsolationLevel),
        st.booleans(),
        st.frozensets(st.sampled_from(["h100", "a100"])),
        cost_per_hour=prices,
        health=healths,
        obstacles=st.sampled_from([(), ("it is drained",)]),
        execution_mode=st.sampled_from(ExecutionMode),
        unavailable=st.sampled_from(["", "it does not answer"]),
    ),
    max_size=8,
    unique_by=lambda one: (one.extension, one.host, one.region),
)
limited = st.builds(
    Constraints,
    prices,
    st.none() | st.sampled_from(IsolationLevel),
    st.none() | st.sampled_from(["eu", "eu-1", "us"]),
    st.none() | st.sampled_from(["any", "h100"]),
    st.none() | st.integers(1, 9),
    st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    st.none() | st.sampled_from(ExecutionMode),
)
requests = st.builds(
    RouteRequest,
    st.sampled_from(Strategy),
    st.builds(Need, st.sampled_from(IsolationLevel)),
    st.lists(st.sampled_from(["ext.a", "ext.b", "ext.c"]), unique=True).map(tuple),
    st.none() | st.sampled_from(["ext.a", "ext.b"]),
    st.lists(st.lists(st.sampled_from(["ext.a", "ext.b"])).map(tuple), max_size=2).map(tuple),
    st.lists(limited, max_size=2).map(tuple),
    desktops=st.booleans(),
    among=st.lists(st.sampled_from(["ext.a", "ext.b"]), max_size=2).map(tuple),
    failed=st.lists(
        st.builds(
            Attempt,
            st.sampled_from(["ext.a", "ext.b"]),
            st.sampled_from(["", "x"]),
            st.just(NOW),
            st.just("it broke"),
            st.sampled_from(["", "eu"]),
        ),
        max_size=2,
    ).map(tuple),
)


def test_unavailable_one_is_out_for_that_alone_and_for_who_left_it_out_by_name() -> None:
    away = Candidate("ext.a", obstacles=("it is drained",), unavailable="it does not answer")
    need = Need(IsolationLevel.MICROVM, ImageKind.OTHER, closed_network=True)
    limits = (Constraints(region="eu", gpu="any", max_cost_per_hour=HourlyCost(1)),)
    request = RouteRequest(Strategy.LOWEST_COST, need, limits=limits)
    (verdict,) = decide(request, (away,)).verdicts
    assert verdict.reasons == ("it does not answer",)
    (verdict,) = decide(replace(request, allowed=(("ext.b",),)), (away,)).verdicts
    assert verdict.reasons == ("it is not allowed here", "it does not answer")


@given(requests, candidates, st.randoms(use_true_random=False))
def test_decision_does_not_depend_on_the_order_and_replays_to_the_same(
    request: RouteRequest, found: list[Candidate], random: Random
) -> None:
    decision = decide(request, found)
    shuffled = [*found]
    random.shuffle(shuffled)
    assert decide(request, shuffled) == decision == decide_again(decision)


@given(requests, candidates)
def test_no_candidate_that_breaks_a_limit_is_ever_fit(
    request: RouteRequest, found: list[Candidate]
) -> None:
    for one in decide(request, found).fit:
        assert not one.obstacles and not one.unavailable
        assert not list(find_shortfalls(one, request.need))
        assert not any(list(breaches(one, limits)) for limits in request.limits)
        assert all(one.extension in allowed for allowed in request.allowed)
        assert not request.extensions or one.extension in request.extensions
        assert request.only in (None, one.extension)
        assert not request.among or one.extension in request.among
        assert (one.extension, one.host, one.rented_in) not in {
            (each.extension, each.host, each.region) for each in request.failed
        }
        assert request.desktops or one.execution_mode is ExecutionMode.SANDBOX


@given(requests, candidates)
def test_preferred_desktop_is_first_whenever_it_is_fit(
    request: RouteRequest, found: list[Candidate]
) -> None:
    fit = decide(replace(request, strategy=Strategy.DESKTOP_PREFERRED), found).fit
    modes = [one.execution_mode for one in fit]
    own = modes.count(ExecutionMode.DESKTOP)
    assert modes == [ExecutionMode.DESKTOP] * own + [ExecutionMode.SANDBOX] * (len(fit) - own)
    after = [one.self_hosted for one in fit[own:]]
    assert after == sorted(after, reverse=True)


@given(requests, candidates)
def test_machine_that_is_linked_changes_nothing_where_no_policy_takes_it(
    request: RouteRequest, found: list[Candidate]
) -> None:
    sandboxes = [one for one in found if one.execution_mode is ExecutionMode.SANDBOX]
    silent = replace(request, desktops=False)
    assert decide(silent, found).fit == decide(silent, sandboxes).fit


@given(requests, candidates, limited)
def test_one_more_limit_never_adds_a_candidate_or_changes_the_order(
    request: RouteRequest, found: list[Candidate], more: Constraints
) -> None:
    # The currency of the first limit is that of comparisons: another one changes what is known.
    narrower = replace(request, limits=(*request.limits, replace(more, max_cost_per_hour=None)))
    before, after = decide(request, found).fit, decide(narrower, found).fit
    assert after == tuple(one for one in before if one in after)


@given(requests, candidates, limited)
def test_one_more_limit_of_any_kind_never_adds_a_candidate(
    request: RouteRequest, found: list[Candidate], more: Constraints
) -> None:
    narrower = replace(request, limits=(*request.limits, more))
    before = decide(request, found).fit
    assert all(one in before for one in decide(narrower, found).fit)


def test_decision_made_again_is_the_same() -> None:
    decision = decide(PREFER, (RENTED, BOX, OURS))
    assert decide_again(decision) == decision


def test_field_that_a_backend_would_drop_is_a_reason() -> None:
    dropping = replace(BOX, ignores=(("mounts", "nothing is mounted there"),))
    found = decide(replace(PREFER, need=Need(fields=frozenset({"mounts"}))), (dropping,))
    assert found.verdicts[0].reasons == ("it cannot act on mounts: nothing is mounted there",)
    assert decide(PREFER, (dropping,)).chosen == dropping


def test_stack_needs_its_compose_file() -> None:
    stack = replace(BOX, needs_compose=True)
    (why,) = decide(PREFER, (stack,)).verdicts[0].reasons
    assert why.startswith("it brings up the services of a compose file")
    named = replace(PREFER, need=Need(fields=frozenset({COMPOSE_REF})))
    assert decide(named, (stack,)).chosen == stack


def test_error_names_each_place_with_its_reasons() -> None:
    error = no_route(decide(replace(PREFER, only="ext.ours"), (BOX,)), field="host")
    assert (error.code, error.field) == ("no_route", "host")
    (rejected,) = error.candidates
    assert (rejected.extension, rejected.host, rejected.region) == ("ext.ssh", "box", "eu-1")
    assert rejected.reasons == ("ext.ours was asked for",)


def test_failed_place_is_tried_where_there_is_no_other_and_nobody_set_a_route() -> None:
    ill = replace(OURS, health=Health(9, 0.0, None, None, Breaker.OPEN))
    spare = replace(PREFER, takes_ailing=True)
    assert decide(spare, (ill,)).chosen == ill
    assert decide(spare, (ill, BOX)).chosen == BOX


def test_place_whose_one_trial_is_under_way_waits_for_it() -> None:
    tried = replace(OURS, on_trial=True)
    (reason,) = decide(PREFER, (tried,)).verdicts[0].reasons
    assert reason.startswith("one start is under way")
