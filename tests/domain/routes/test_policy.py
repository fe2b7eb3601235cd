import pytest

from atoll.domain.errors import Invalid
from atoll.domain.hosts.host import HourlyCost
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, RouteId, SandboxId
from atoll.domain.profile.route import cost_text, policy_of
from atoll.domain.profile.schema import profile_document, read_profile
from atoll.domain.routes.candidate import Candidate
from atoll.domain.routes.decision import RouteRequest, decide
from atoll.domain.routes.health import Attempt
from atoll.domain.routes.policy import (
    BUILT_IN,
    DESKTOP,
    Constraints,
    RouteOptions,
    RoutePolicy,
    named_backends,
    narrow_policy,
    read_policy,
)
from atoll.domain.routes.record import Move, RouteRecord
from atoll.testing.samples import NOW
from atoll.wire.words.routes import MAX_NAMED, ExecutionMode, Strategy
from atoll.wire.words.walls import IsolationLevel

SANDBOX = ExecutionMode.SANDBOX
HEAD = 'id: profile.x\nversion: "1.0.0"\n'
SEED = """extension: ext.vm-packer
route:
  strategy: prefer-self-hosted
  fallback: [ext.compose-ssh, ext.daytona]
  constraints:
    max_cost_per_hour: 0.12
    require_isolation: microvm
    region: eu
    gpu: any
    max_ready_ms: 5000
    min_success: 0.9
    execution_mode: sandbox
"""


def test_route_of_the_seed_is_read_and_written_back() -> None:
    profile = read_profile(HEAD + SEED)
    assert profile.route == RoutePolicy(
        Strategy.PREFER_SELF_HOSTED,
        # `ext.vm-packer` is another name of it.
        ("ext.microvm", "ext.compose-ssh", "ext.daytona"),
        Constraints(HourlyCost(120_000), IsolationLevel.MICROVM, "eu", "any", 5000, 0.9, SANDBOX),
    )
    assert policy_of(profile, BUILT_IN) == profile.route
    document = profile_document(profile)
    assert (
        read_profile(
            str(document)
            .replace("None", "null")
            .replace("'", '"')
            .replace("True", "true")
            .replace("False", "false")
        )
        == profile
    )


def test_desktops_are_taken_by_policies_that_say_so() -> None:
    preferring = read_profile(HEAD + "route: {strategy: desktop_preferred}\n").route
    assert preferring is not None and preferring.takes_desktops
    assert RoutePolicy(extensions=("ext.a", DESKTOP)).takes_desktops
    assert not BUILT_IN.takes_desktops
    with pytest.raises(Invalid):
        read_profile(HEAD + "route: {constraints: {execution_mode: both}}\n")


def test_extension_alone_is_explicit_and_without_either_the_default_counts() -> None:
    explicit = read_profile(HEAD + "extension: ext.docker\n")
    assert policy_of(explicit, BUILT_IN) == RoutePolicy(Strategy.EXPLICIT, ("ext.docker",))
    assert policy_of(read_profile(HEAD), BUILT_IN) == BUILT_IN
    any_of_them = read_profile(HEAD + "route: {strategy: lowest-cost}\n")
    assert policy_of(any_of_them, BUILT_IN) == RoutePolicy(Strategy.LOWEST_COST)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("route: [1]", "must be a mapping"),
        ("route: {strategy: best}", "must be one of"),
        ("route: {strategy: explicit}", "names exactly one"),
        ("extension: ext.a\nroute: {strategy: explicit, fallback: [ext.b]}", "exactly one"),
        ("extension: ext.a\nroute: {fallback: [ext.a]}", "named twice"),
        ("route: {fallback: [no such]}", "lower-case letters"),
        ("route: {constraints: {max_cost_per_hour: cheap}}", "a price is a number"),
        ("route: {constraints: {max_cost_per_hour: true}}", "must be text"),
        ("route: {constraints: {min_success: 2}}", "from 0 to 1"),
        ("route: {constraints: {colour: red}}", "not a known field"),
        ("route: {colour: red}", "not a known field"),
    ],
)
def test_a_wrong_route_is_refused_with_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        read_profile(f"{HEAD}{text}\n")


def test_prices_are_written_as_they_are_read() -> None:
    profile = read_profile(HEAD + "route: {constraints: {max_cost_per_hour: 0.5 EUR}}\n")
    assert profile.route is not None
    cost = profile.route.constraints.max_cost_per_hour
    assert cost is not None
    assert cost_text(cost) == "0.5 EUR"
    assert cost_text(HourlyCost(100_000_000)) == "100 USD"


def test_options_narrow_and_never_widen() -> None:
    open_ = RoutePolicy(extensions=("ext.a", "ext.b"))
    assert narrow_policy(open_, RouteOptions()) == open_
    assert narrow_policy(open_, RouteOptions(extension="ext.a")).strategy is Strategy.EXPLICIT
    cheap = narrow_policy(open_, RouteOptions(Strategy.LOWEST_COST))
    assert (cheap.strategy, cheap.extensions) == (Strategy.LOWEST_COST, open_.extensions)
    explicit = RoutePolicy(Strategy.EXPLICIT, ("ext.a",))
    assert narrow_policy(explicit, RouteOptions(Strategy.EXPLICIT)) == explicit
    with pytest.raises(Invalid, match="is explicit"):
        narrow_policy(explicit, RouteOptions(Strategy.LOWEST_COST))
    with pytest.raises(Invalid) as both:
        narrow_policy(open_, RouteOptions(Strategy.LOWEST_COST, "ext.a"))
    assert both.value.field == "route.strategy"
    with pytest.raises(Invalid, match="name it"):
        narrow_policy(open_, RouteOptions(Strategy.EXPLICIT))
    with pytest.raises(Invalid, match="at most"):
        read_policy(RoutePolicy(extensions=tuple(f"ext.e{n}" for n in range(MAX_NAMED + 1))))


def test_what_was_tried_is_not_tried_again_and_an_explicit_choice_leaves_nothing() -> None:
    both = (Candidate("ext.a", "x"), Candidate("ext.b", "y"))
    record = RouteRecord(
        RouteId("rt_1"),
        SandboxId("sb_1"),
        PERSONAL_ORG,
        PrincipalId("p"),
        NOW,
        decide(RouteRequest(Strategy.PREFER_SELF_HOSTED), both),
    )
    assert record.left() == both
    after = record.after(Attempt("ext.a", "x", NOW, "it broke"))
    assert after.left() == both[1:]
    move = Move("x", "y", NOW)
    assert after.moved(move).moves == (move,)
    assert after.moved(move).left() == both[1:]
    explicit = decide(RouteRequest(Strategy.EXPLICIT, only="ext.a"), both)
    assert (
        RouteRecord(record.id, record.sandbox_id, record.org_id, record.owner, NOW, explicit).left()
        == ()
    )


def test_either_word_names_the_backends_and_two_lists_that_differ_are_refused() -> None:
    assert named_backends(("ext.a",), (), field="fallback") == ("ext.a",)
    assert named_backends((), ("ext.a",), field="fallback") == ("ext.a",)
    assert named_backends(("ext.a",), ("ext.a",), field="fallback") == ("ext.a",)
    with pytest.raises(Invalid, match="one list") as caught:
        named_backends(("ext.a",), ("ext.b",), field="fallback")
    assert caught.value.field == "fallback"
