"""Checks of the rows of routes."""

from datetime import timedelta

from atoll.domain.hosts.host import HourlyCost
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, RouteId, SandboxId
from atoll.domain.routes.candidate import Candidate, ImageKind, Need
from atoll.domain.routes.decision import Decision, RouteRequest, RouteVerdict
from atoll.domain.routes.health import MOST, Attempt, Health, Outcome
from atoll.domain.routes.policy import Constraints, RoutePolicy, RouteRules
from atoll.domain.routes.record import RouteRecord
from atoll.domain.wall.resources import Resources
from atoll.ports import Store
from atoll.testing.samples import NOW
from atoll.wire.words.routes import Breaker, Strategy
from atoll.wire.words.walls import IsolationLevel

LIMITS = Constraints(HourlyCost(5, "EUR"), IsolationLevel.POLICY, "eu", "any", 10, 0.5)


def record(route_id: str) -> RouteRecord:
    """Return a decision with something in every field."""
    candidate = Candidate(
        "ext.a",
        "box",
        "eu-1",
        1,
        IsolationLevel.MICROVM,
        False,
        frozenset({"h100"}),
        frozenset({ImageKind.HOST}),
        False,
        frozenset({"pause"}),
        Resources(cpu=2.0),
        HourlyCost(7),
        Health(3, 0.5, 10, 20, Breaker.HALF_OPEN),
        ("it is full",),
    )
    need = Need(IsolationLevel.POLICY, ImageKind.OTHER, True, frozenset({"pause"}), Resources())
    request = RouteRequest(
        Strategy.LOWEST_COST, need, ("ext.a",), "ext.a", (("ext.a",),), (LIMITS,)
    )
    return RouteRecord(
        RouteId(route_id),
        SandboxId("sb_a"),
        PERSONAL_ORG,
        PrincipalId("ada"),
        NOW,
        Decision(request, (RouteVerdict(candidate, ("it is full",)),)),
        (Attempt("ext.a", "box", NOW, "it broke"), Attempt("ext.a", "box", NOW)),
    )


async def check_decisions_come_back_as_they_were_put_last(store: Store) -> None:
    """Every field comes back; a missing one is None."""
    first, again = record("rt_a"), record("rt_a").after(Attempt("ext.b", "", NOW))
    async with store.begin() as rows:
        await rows.routes.put(first)
        await rows.routes.put(record("rt_b"))
        await rows.routes.put(again)
    async with store.read() as rows:
        assert await rows.routes.get(RouteId("rt_a")) == again
        assert await rows.routes.get(RouteId("rt_b")) == record("rt_b")
        assert await rows.routes.get(RouteId("rt_c")) is None


async def check_rules_are_the_organizations_or_the_installations(store: Store) -> None:
    """Neither sees the other's, and empty ones are gone."""
    own = RouteRules(RoutePolicy(Strategy.LOWEST_COST, ("ext.a",), LIMITS), ("ext.a", "ext.b"))
    wide = RouteRules(None, ())
    async with store.begin() as rows:
        assert await rows.routes.rules(None) == RouteRules()
        await rows.routes.put_rules(PERSONAL_ORG, own)
        await rows.routes.put_rules(None, wide)
    async with store.begin() as rows:
        assert await rows.routes.rules(PERSONAL_ORG) == own
        assert await rows.routes.rules(None) == wide
        await rows.routes.put_rules(PERSONAL_ORG, RouteRules())
        assert await rows.routes.rules(PERSONAL_ORG) == RouteRules()


async def check_the_newest_outcomes_of_each_place_are_kept(store: Store) -> None:
    """Places are apart, and only the newest stay."""
    made = [Outcome(NOW + timedelta(seconds=n), n if n % 2 else None) for n in range(MOST + 3)]
    async with store.begin() as rows:
        for one in made:
            await rows.routes.note(("ext.a", "box"), one)
        await rows.routes.note(("ext.a", "other"), made[0])
        await rows.routes.note(("ext.b", ""), made[1])
    async with store.read() as rows:
        assert await rows.routes.outcomes(["ext.a", "ext.c"]) == {
            ("ext.a", "box"): tuple(made[-MOST:]),
            ("ext.a", "other"): (made[0],),
        }
    async with store.begin() as rows:
        await rows.routes.forget("box")
        assert list(await rows.routes.outcomes(["ext.a"])) == [("ext.a", "other")]
