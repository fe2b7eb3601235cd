"""Budgets over HTTP and by `atoll budget`: who sets and sees them, and what they do once spent."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from atoll.domain.budgets.budget import BudgetId
from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.ids import PERSONAL_ORG, EventId, PrincipalId, SandboxId
from atoll.domain.people.principal import SYSTEM
from atoll.services.lifecycle.leases import SETTLED_AFTER, settle_leases
from atoll.services.lifecycle.usage_sampling import UsageSampling
from atoll.surfaces.cli.entry import run
from atoll.wire.words.meters import MAX_BUDGET_MICROS, MAX_BUDGETS
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, client_of

PATH = "/v1/budgets"
ACTS = {
    "PUT /v1/budgets": {
        "scope": "test_spent_budget_of_each_scope_refuses_what_it_binds",
        "subject": "test_spent_budget_of_each_scope_refuses_what_it_binds",
        "amount_micros": "test_spent_budget_refuses_new_sandboxes_and_names_itself",
        "period": "test_next_period_begins_anew",
        "warn_at": "test_each_limit_that_is_passed_is_one_event",
        "at_limit": "test_budget_that_only_warns_refuses_nothing",
        "currency": "test_amounts_that_are_no_money_are_invalid",
    },
}
NUMBERS = iter(range(1_000_000))


def terms(amount_micros: int = 1000, **more: Any) -> dict[str, Any]:
    return {"scope": "person", "amount_micros": amount_micros, "period": "total", **more}


async def make(team: Team, who: str | None = None, **body: Any) -> str:
    made = await team.call(who, "POST", "/v1/sandboxes?wait=ready", json=body)
    assert made.status_code == 201, made.text
    return str(made.json()["sandbox_id"])


async def set_budget(team: Team, who: str | None, body: dict[str, Any]) -> Any:
    answer = await team.call(who, "PUT", PATH, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def spend(atoll: World, box: str, *costs: int, ago: timedelta = timedelta()) -> None:
    """Report calls of models as a door does, and have them counted."""
    payloads: list[dict[str, Json]] = [
        {"outcome": "passed", "cost_micros": micros} for micros in costs
    ]
    drafts = tuple(
        EventDraft(
            id=EventId(f"ev_spent_{next(NUMBERS)}"),
            stream=sandbox_stream(SandboxId(box)),
            event_type="door.request",
            at=atoll.clock.now() - ago,
            org_id=PERSONAL_ORG,
            owner=PrincipalId("person"),
            actor=SYSTEM,
            reason=None,
            payload={"sandbox_id": box, "generation": 1, "n": number, **payload},
        )
        for number, payload in enumerate(payloads)
    )
    async with atoll.ground.store.begin() as rows:
        await rows.events.append(drafts)
    await UsageSampling(atoll.ground).sweep()


async def test_spent_budget_refuses_new_sandboxes_and_names_itself(atoll: World) -> None:
    team = Team(atoll)
    box = await make(team, name="one")
    budget = await set_budget(team, None, terms(amount_micros=1500))
    assert (budget["spent_micros"], budget["left_micros"], budget["reached"]) == (0, 1500, False)
    await spend(atoll, box, 1000, 499)
    await make(team, name="two")
    await spend(atoll, box, 1)
    refused = await team.call(None, "POST", "/v1/sandboxes", json={"name": "three"})
    assert (refused.status_code, refused.json()["code"]) == (429, "budget_reached")
    detail = refused.json()["detail"]
    assert budget["budget_id"] in detail and "$0.0015 of $0.0015" in detail
    # It is raised by setting it again; no second budget of the same subject and period is made.
    raised = await set_budget(team, None, terms(1501))
    assert (raised["budget_id"], raised["left_micros"]) == (budget["budget_id"], 1)
    await make(team, name="three")
    assert len((await team.call(None, "GET", PATH)).json()["budgets"]) == 1


def leases_sent(atoll: World) -> list[tuple[str, int, str]]:
    """The leases of the policy that the runtime was sent last."""
    bodies = [body for _, path, _, body in atoll.runtime.asked if path == "/policy" and body]
    sent = json.loads(bodies[-1]).get("leases", []) if bodies else []
    return [(each["lease_id"], each["micros"], each["refusal"]) for each in sent]


def every_lease(atoll: World) -> list[tuple[str, int, str]]:
    """The leases that runtimes were sent, in their order."""
    bodies = [body for _, path, _, body in atoll.runtime.asked if path == "/policy" and body]
    leases = [each for body in bodies for each in json.loads(body).get("leases", [])]
    return [(each["lease_id"], each["micros"], each["refusal"]) for each in leases]


async def test_doors_are_leased_parts_of_a_budget_and_hear_when_it_is_spent(atoll: World) -> None:
    team = Team(atoll)
    box = await make(team, name="one")
    look = atoll.services.background.leases.look
    budget = await set_budget(team, None, terms(1_000_000))
    ((lease, micros, refusal),) = leases_sent(atoll)
    assert (lease, micros) == (f"{budget['budget_id']}:total:{box}:1", 250_000)
    assert "its part of the budget" in refusal
    await spend(atoll, box, 100_000)
    assert await look() == set(), "more than half of it is left"
    await spend(atoll, box, 50_000)
    assert await look() == {box}
    push = atoll.services.background.policy_push
    await push.push_changes(PERSONAL_ORG, None)
    assert [micros for _, micros, _ in leases_sent(atoll)] == [362_500]
    assert await look() == set()
    # What it did not report is not given to anybody: 212,500 are leased, 637,500 left.
    other = await make(team, name="two")
    assert {lease.split(":")[2]: micros for lease, micros, _ in leases_sent(atoll)} == {
        other: 159_375
    }
    await spend(atoll, box, 850_000)
    assert box in await look()
    await push.push_changes(PERSONAL_ORG, None)
    said = {lease.split(":")[2]: text for lease, _, text in every_lease(atoll)}
    assert "$1.00 of $1.00 (total)" in said[box]
    assert await look() == set(), "it is told once"
    assert (await team.call(None, "DELETE", f"{PATH}/{budget['budget_id']}")).is_success
    assert leases_sent(atoll) == []


async def test_lowered_budget_shortens_the_leases_of_doors(atoll: World) -> None:
    team = Team(atoll)
    box = await make(team, name="one")
    await set_budget(team, None, terms(1_000_000))
    await spend(atoll, box, 1000)
    await set_budget(team, None, terms(5000))
    assert [micros for _, micros, _ in leases_sent(atoll)] == [5000]
    await set_budget(team, None, terms(0))
    ((_, micros, refusal),) = leases_sent(atoll)
    assert (micros, "$0.001 of $0.00" in refusal) == (1000, True), refusal


async def test_budget_that_only_warns_leases_nothing(atoll: World) -> None:
    team = Team(atoll)
    box = await make(team, name="one")
    await set_budget(team, None, terms(1, at_limit="warn"))
    await spend(atoll, box, 10)
    assert await atoll.services.background.leases.look() == set()
    assert leases_sent(atoll) == []
    async with atoll.ground.store.read() as rows:
        assert await rows.budget_leases.of_sandbox(SandboxId(box)) == []


async def test_ended_sandbox_returns_what_it_did_not_spend(atoll: World) -> None:
    team = Team(atoll)
    box = await make(team, name="one")
    await set_budget(team, None, terms(1_000_000))
    await spend(atoll, box, 10)
    assert (await team.call(None, "POST", f"/v1/sandboxes/{box}/stop?wait=true")).is_success
    async with atoll.ground.store.begin() as rows:
        await settle_leases(rows, atoll.clock.now())
        assert len(await rows.budget_leases.outstanding()) == 1, "its journal may not be read yet"
        await settle_leases(rows, atoll.clock.now() + SETTLED_AFTER)
        assert await rows.budget_leases.outstanding() == []
        (lease,) = await rows.budget_leases.of_sandbox(SandboxId(box))
    assert (lease.granted, lease.spent) == (10, 10)


async def test_without_a_budget_all_is_counted_and_nothing_refused(atoll: World) -> None:
    team = Team(atoll)
    box = await make(team, name="one")
    await spend(atoll, box, MAX_BUDGET_MICROS, 5)
    await make(team, name="two")
    late = await set_budget(team, None, terms(1))
    assert late["spent_micros"] == 2**40 + 5, "one answer counts 2**40 at most"


async def test_spent_budget_of_each_scope_refuses_what_it_binds(atoll: World) -> None:
    team = await team_of(atoll, ada="admin", mel="member")
    ci: dict[str, Any] = {"consumer": {"actor": "atm", "harness": "ci", "run_id": "1"}}
    box = await make(team, "mel", name="one", agent="codex", **ci)
    await spend(atoll, box, 10)
    for scope, subject, bound, free in (
        ("organization", None, ("ada", {}), None),
        ("person", "Mel", ("mel", {}), ("ada", {})),
        ("agent", "codex", ("ada", {"agent": "codex"}), ("mel", {})),
        ("consumer", "ci", ("ada", ci), ("mel", {})),
        ("consumer", "ci/1", ("ada", ci), ("mel", {})),
    ):
        budget = await set_budget(team, "ada", terms(10, scope=scope, subject=subject))
        assert budget["spent_micros"] == 10
        who, body = bound
        refused = await team.call(who, "POST", "/v1/sandboxes", json=body)
        assert (refused.status_code, refused.json()["code"]) == (429, "budget_reached"), scope
        if free is not None:
            await make(team, free[0], **free[1])
        assert (await team.call("ada", "DELETE", f"{PATH}/{budget['budget_id']}")).is_success
    own = await set_budget(team, "mel", terms(10, scope="sandbox", subject="one"))
    assert (own["subject"], own["reached"]) == (box, True)


async def test_budget_that_only_warns_refuses_nothing(atoll: World) -> None:
    team = Team(atoll)
    box = await make(team, name="one")
    await set_budget(team, None, terms(10, at_limit="warn", warn_at=[50]))
    await spend(atoll, box, 30)
    await make(team, name="two")
    (listed,) = (await team.call(None, "GET", PATH)).json()["budgets"]
    assert (listed["reached"], listed["warned"], listed["left_micros"]) == (True, 50, 0)


async def test_each_limit_that_is_passed_is_one_event(atoll: World) -> None:
    team = Team(atoll)
    box = await make(team, name="one")
    await set_budget(team, None, terms(100, warn_at=[50, 80]))
    for cost in (49, 1, 29, 40, 40):
        await spend(atoll, box, cost)
    async with client_of(atoll.url, atoll.token) as client:
        events = (await client.get("/v1/events?stream=org:personal")).json()["events"]
    told = [
        (one["event_type"], one["payload"].get("percent"), one["payload"].get("spent_micros"))
        for one in events
        if one["event_type"].startswith("budget.")
    ]
    assert told == [
        ("budget.set", None, None),
        ("budget.warned", 50, 50),
        ("budget.warned", 80, 119),
        ("budget.reached", None, 119),
    ]


async def test_next_period_begins_anew(atoll: World) -> None:
    team = Team(atoll)
    box = await make(team, name="one")
    await spend(atoll, box, 10, ago=timedelta(days=1))
    await spend(atoll, box, 10, ago=timedelta(days=40))
    day = await set_budget(team, None, terms(20, period="day"))
    total = await set_budget(team, None, terms(50, period="total"))
    assert (day["spent_micros"], total["spent_micros"]) == (0, 20)
    ends = datetime.fromisoformat(day["ends_at"])
    assert timedelta() < ends - atoll.clock.now().astimezone(UTC) <= timedelta(days=1)
    assert total["ends_at"] is None


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ('"amount_micros": 1.0', "amount_micros"),
        ('"amount_micros": 2.5', "amount_micros"),
        ('"amount_micros": "5"', "amount_micros"),
        ('"amount_micros": true', "amount_micros"),
        ('"amount_micros": -1', "amount_micros"),
        (f'"amount_micros": {MAX_BUDGET_MICROS + 1}', "amount_micros"),
        (f'"amount_micros": {2**63}', "amount_micros"),
        (f'"amount_micros": {10**40}', "amount_micros"),
        ('"amount_micros": 1e3', "amount_micros"),
        ('"amount_micros": 5, "currency": "EUR"', "currency"),
        ('"amount_micros": 5, "currency": "usd"', "currency"),
        ('"amount_micros": 5, "warn_at": [101]', "warn_at"),
        ('"amount_micros": 5, "warn_at": [0]', "warn_at"),
        ('"amount_micros": 5, "warn_at": [80, 50]', "warn_at"),
        ('"amount_micros": 5, "warn_at": [1, 2, 3, 4, 5, 6]', "warn_at"),
        ('"amount_micros": 5, "at_limit": "pause"', "at_limit"),
        ('"amount_micros": 5, "at_limit": "stop"', "at_limit"),
        ('"amount_micros": 5, "period": "year"', "period"),
    ],
)
async def test_amounts_that_are_no_money_are_invalid(atoll: World, more: str, field: str) -> None:
    period = "" if "period" in more else '"period": "day", '
    body = '{"scope": "person", ' + period + more + "}"
    async with client_of(atoll.url, atoll.token) as client:
        refused = await client.put(PATH, content=body, headers={"Content-Type": "application/json"})
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid"), refused.text
        assert refused.json()["field"].startswith(field)
        assert (await client.get(PATH)).json()["budgets"] == []
        kept = await client.put(PATH, json=terms(currency="USD"))
        assert kept.json()["currency"] == "USD"


async def test_members_cannot_raise_what_an_administrator_set(atoll: World) -> None:
    team = await team_of(atoll, ada="admin", mel="member", bob="member")
    box = await make(team, "mel", name="box")
    for body in (
        terms(scope="organization"),
        terms(subject="bob"),
        terms(scope="agent", subject="codex"),
        terms(scope="consumer", subject="ci"),
    ):
        assert (await team.call("mel", "PUT", PATH, json=body)).status_code == 403, body
    foreign = terms(scope="sandbox", subject=box)
    assert (await team.call("bob", "PUT", PATH, json=foreign)).status_code == 404
    strict = await set_budget(team, "ada", terms(5, subject="mel"))
    at = f"{PATH}/{strict['budget_id']}"
    assert (await team.call("mel", "PUT", PATH, json=terms(99))).status_code == 403
    assert (await team.call("mel", "DELETE", at)).status_code == 403
    assert (await team.call("bob", "DELETE", at)).status_code == 404
    seen = [(await team.call(who, "GET", PATH)).json()["budgets"] for who in ("mel", "bob", "ada")]
    assert [len(each) for each in seen] == [1, 0, 1]
    # A further budget of one's own takes nothing away from the administrator's.
    await set_budget(team, "mel", terms(99, period="day"))
    assert (await team.call("ada", "DELETE", at)).status_code == 204


async def test_sandbox_and_its_agent_see_and_set_no_budget(atoll: World) -> None:
    team = await team_of(atoll, mel="member")
    box = await make(team, "mel", name="box")
    budget = await set_budget(team, "mel", terms(5))
    body = {"name": "inside", "sandbox_id": box}
    token = (await team.call("mel", "POST", "/auth/pat", json=body)).json()["token"]
    async with client_of(atoll.url, token) as inside:
        at = f"{PATH}/{budget['budget_id']}"
        answers = [
            await inside.get(PATH),
            await inside.put(PATH, json=terms(10**9)),
            await inside.delete(at),
        ]
    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert (await team.call("mel", "GET", PATH)).json()["budgets"] == [budget]


async def test_budget_of_another_organization_is_like_a_missing_one(atoll: World) -> None:
    team = await team_of(atoll, ada="admin")
    await team.organization("elsewhere")
    await team.join("eve", OrgRole.OWNER, org="elsewhere")
    box = await make(team, "ada", name="box")
    budget = await set_budget(team, "ada", terms(5))
    assert (await team.call("eve", "GET", PATH)).json()["budgets"] == []
    assert (await team.call("eve", "DELETE", f"{PATH}/{budget['budget_id']}")).status_code == 404
    for scope, subject in (("person", "ada"), ("sandbox", box), ("organization", "acme")):
        body = terms(scope=scope, subject=subject)
        assert (await team.call("eve", "PUT", PATH, json=body)).status_code == 404


async def test_budgets_are_no_more_than_their_bound(atoll: World) -> None:
    team = Team(atoll)
    first = await set_budget(team, None, terms())
    async with atoll.ground.store.begin() as rows:
        (budget,) = await rows.budgets.of_organization(PERSONAL_ORG)
        for number in range(1, MAX_BUDGETS):
            subject = replace(budget.subject, name=f"p{number}")
            await rows.budgets.put(replace(budget, id=BudgetId(f"bud_{number}"), subject=subject))
    refused = await team.call(None, "PUT", PATH, json=terms(period="day"))
    assert (refused.status_code, refused.json()["code"]) == (429, "limit_reached")
    assert (await set_budget(team, None, terms(7)))["budget_id"] == first["budget_id"]


async def test_budget_commands_set_list_and_remove(
    atoll: World, capfd: pytest.CaptureFixture[str]
) -> None:
    environ = {"ATOLL_URL": atoll.url, "ATOLL_TOKEN": atoll.token, "ATOLL_HOME": "/nonexistent"}

    async def atoll_budget(*words: str) -> tuple[int, str]:
        call = ["budget", *words]
        code = await asyncio.to_thread(run, call, environ, lambda: None)  # type: ignore[arg-type, return-value]
        captured = capfd.readouterr()
        return code, captured.out + captured.err

    assert (await atoll_budget("list"))[1].startswith("no budgets")
    code, shown = await atoll_budget("set", "2.50", "--warn-at", "80", "--warn-at", "50", "--json")
    made = json.loads(shown)
    assert (code, made["amount_micros"], made["warn_at"]) == (0, 2_500_000, [50, 80])
    assert (made["scope"], made["period"], made["at_limit"]) == ("person", "month", "refuse")
    code, shown = await atoll_budget("set", "0", "--for", "agent:codex", "--at-limit", "warn")
    assert code == 0 and "codex" in shown and "is spent" in shown, shown
    code, shown = await atoll_budget("list")
    assert code == 0 and "$2.50" in shown and "codex" in shown
    for wrong in ("-1", "1e400", "NaN", "0.0000001", "two", "9" * 20):
        assert (await atoll_budget("set", "--", wrong))[0] != 0, wrong
    assert (await atoll_budget("set", "1", "--for", "planet"))[0] != 0
    assert (await atoll_budget("rm", made["budget_id"]))[0] == 0
    assert (await atoll_budget("rm", made["budget_id"]))[0] != 0
