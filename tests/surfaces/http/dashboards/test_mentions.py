"""Mentions on dashboards over the API: whose inbox they reach, and when they end."""

from datetime import timedelta
from typing import Any

from atoll.wire.words.people import OrgRole
from tests.surfaces.http.dashboards.tab import Tab, item_id
from tests.surfaces.http.team import Team
from tests.surfaces.http.world import World

ITEM = "itm_0123456789abcdef"


async def _board(atoll: World, *people: str) -> tuple[Team, str]:
    """A private dashboard of `ann`, on which `people` may edit, in a team with a viewer."""
    team = Team(atoll)
    await team.organization("personal")
    roles = {"ann": OrgRole.MEMBER, "bob": OrgRole.MEMBER, "eve": OrgRole.VIEWER}
    for name, role in roles.items():
        await team.join(name, role)
    made = await team.call("ann", "POST", "/v1/dashboards", json={"name": "Plan"})
    place = f"/v1/dashboards/{made.json()['id']}"
    for name in people:
        shared = await team.call("ann", "PUT", f"{place}/people/{name}", json={"role": "editor"})
        assert shared.is_success
    return team, place


async def _inbox(team: Team, who: str) -> list[dict[str, Any]]:
    answer = await team.call(who, "GET", "/v1/inbox")
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def _said(team: Team, place: str, text: str, who: str = "ann") -> Any:
    body = {"item_id": ITEM, "text": text}
    made = await team.call(who, "POST", f"{place}/comments", json=body)
    assert made.status_code == 201, made.text
    return made.json()


async def _told(team: Team, who: str) -> list[tuple[str, str]]:
    log = (await team.call(who, "GET", "/v1/events?limit=1000")).json()["events"]
    kinds = ("dashboard.mentioned", "dashboard.mention_ended")
    told = [one for one in log if one["event_type"] in kinds]
    assert "secret plan" not in str(told)
    return [(one["event_type"].removeprefix("dashboard."), one["payload"]["kind"]) for one in told]


async def test_comment_reaches_the_inbox_of_those_it_names_who_see_the_dashboard(
    atoll: World,
) -> None:
    team, place = await _board(atoll, "bob")
    written = await _said(team, place, "@Bob @eve @Ann: my secret plan\n<b>")
    assert set(written["mentions"]) == {"bob", "ann"}
    (item,) = await _inbox(team, "bob")
    assert (item["kind"], item["author"], item["sandbox_id"]) == ("mention", "Ann", None)
    assert item["lines"] == ["@Bob @eve @Ann: my secret plan", "<b>"]
    board = place.rpartition("/")[2]
    assert item["place"] == {"dashboard_id": board, "dashboard_name": "Plan", "item_id": ITEM}
    assert await _inbox(team, "ann") == await _inbox(team, "eve") == []
    assert await _told(team, "bob") == [("mentioned", "comment")]
    assert await _told(team, "ann") == []

    mine = f"/v1/inbox/{item['id']}"
    answered = await team.call(
        "bob", "POST", f"{mine}/answer", json={"option": "deny", "shown": item["shown"]}
    )
    assert (answered.status_code, answered.json()["code"]) == (409, "not_answerable")
    statuses = [(await team.call(who, "DELETE", mine)).status_code for who in ("eve", "bob", "bob")]
    assert statuses == [404, 204, 404]
    assert await _inbox(team, "bob") == []


async def test_mention_ends_with_its_comment_and_with_the_sight_of_the_dashboard(
    atoll: World,
) -> None:
    team, place = await _board(atoll, "bob", "eve")
    comment = await _said(team, place, "@bob")
    await _said(team, place, "@eve, viewers are mentioned, too")
    assert len(await _inbox(team, "bob")) == len(await _inbox(team, "eve")) == 1
    await team.call("ann", "DELETE", f"{place}/comments/{comment['id']}")
    assert await _inbox(team, "bob") == []
    assert await _told(team, "bob") == [("mentioned", "comment"), ("mention_ended", "comment")]
    (item,) = await _inbox(team, "eve")
    await team.call("ann", "DELETE", f"{place}/people/eve")
    assert await _inbox(team, "eve") == []
    await team.call("ann", "PUT", f"{place}/people/eve", json={"role": "viewer"})
    await team.call("ann", "DELETE", place)
    assert await _inbox(team, "eve") == []
    await team.call("ann", "POST", f"{place}/restore")
    assert await _inbox(team, "eve") == [item]
    assert (await team.call("eve", "DELETE", f"/v1/inbox/{item['id']}")).status_code == 204


async def test_todo_waits_for_who_gets_it_until_it_is_done_or_another_has_it(
    atoll: World,
) -> None:
    team, place = await _board(atoll, "bob", "eve")
    tab, board = Tab(), place.rpartition("/")[2]

    async def waiting(**fields: object) -> list[tuple[str, list[str]]]:
        with tab.doc.transaction():
            for name, value in fields.items():
                tab.items[item_id(1)][name] = value
        await tab.saved()
        return [(who, one["lines"]) for who in ("bob", "eve") for one in await _inbox(team, who)]

    async with tab.joined(atoll.url, board, "token-of-ann"):
        await tab.told("saved")
        tab.add(1, "Try it", kind="todo", title="Fix", assignee="bob")
        assert await waiting() == [("bob", ["Fix", "Try it"])]
        assert await waiting(title="Mend") == [("bob", ["Mend", "Try it"])]
        assert await waiting(assignee="eve") == [("eve", ["Mend", "Try it"])]
        assert await waiting(done=True) == []
        assert await waiting(done=False, assignee="bob") != []
        (item,) = await _inbox(team, "bob")
        assert (await team.call("bob", "DELETE", f"/v1/inbox/{item['id']}")).status_code == 204
        assert await waiting(x=7.0) == []  # seen is seen, whoever moves it
        assert await waiting(assignee="mallory") == await waiting(assignee="ann") == []
        assert await waiting(assignee="eve") != []
        del tab.items[item_id(1)]
        assert await waiting() == []
        # Nobody is told of a todo that they gave to themselves, whoever moves it then.
        tab.add(2, kind="todo", assignee="ann")
        await tab.saved()
    other = Tab()
    async with other.joined(atoll.url, board, "token-of-bob"):
        await other.told("saved")
        await other.until(lambda: item_id(2) in other.items)
        other.items[item_id(2)]["x"] = 9.0
        await other.saved()
        assert await _inbox(team, "ann") == []
    assert await _told(team, "eve") == [("mentioned", "todo"), ("mention_ended", "todo")] * 2


async def test_mentions_of_one_person_are_bounded(atoll: World, monkeypatch: Any) -> None:
    monkeypatch.setattr("atoll.services.dashboards.mentions.MAX_MENTIONED", 2)
    team, place = await _board(atoll, "bob")
    for number in range(4):
        await _said(team, place, f"@bob {number}")
        atoll.clock.at += timedelta(seconds=1)
    assert [one["lines"] for one in await _inbox(team, "bob")] == [["@bob 2"], ["@bob 3"]]
