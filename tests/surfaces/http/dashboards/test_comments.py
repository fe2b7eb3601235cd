"""Comments on a dashboard's items over the API: who writes, resolves and deletes which."""

from datetime import timedelta
from typing import Any

import pytest

from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/dashboards/{dashboard}/comments": {
        "item_id": "test_comment_is_written_resolved_and_deleted",
        "text": "test_comment_is_written_resolved_and_deleted",
        "mentions": "test_only_who_sees_the_dashboard_is_mentioned",
    },
    "PATCH /v1/dashboards/{dashboard}/comments/{comment}": {
        "resolved": "test_comment_is_written_resolved_and_deleted"
    },
}
ITEM = "itm_0123456789abcdef"


async def _team(atoll: World) -> Team:
    team = Team(atoll)
    await team.organization("personal")
    for name, role in (("ann", OrgRole.MEMBER), ("bob", OrgRole.MEMBER), ("eve", OrgRole.VIEWER)):
        await team.join(name, role)
    await team.organization("other")
    await team.join("mallory", org="other")
    return team


async def test_comment_is_written_resolved_and_deleted(atoll: World) -> None:
    team = await _team(atoll)
    async with team.client("ann") as ann, team.client("bob") as bob, team.client("eve") as eve:
        made = await ann.post("/v1/dashboards", json={"name": "A", "scope": "shared"})
        place = f"/v1/dashboards/{made.json()['id']}/comments"
        said = {"item_id": ITEM, "text": " Why\nthis? <b> "}
        written = (await eve.post(place, json=said)).json()
        assert written["id"].startswith("cmt_") and written["author"] == "eve"
        assert (written["text"], written["item_id"]) == ("Why\nthis? <b>", ITEM)
        atoll.clock.at += timedelta(seconds=1)
        other = (await bob.post(place, json={"item_id": ITEM, "text": "Two"})).json()
        first = (await ann.get(f"{place}?limit=1")).json()
        last = (await ann.get(f"{place}?limit=1&cursor={first['next']}")).json()
        assert first["comments"] + last["comments"] == [written, other] and not last["next"]

        one, two = f"{place}/{written['id']}", f"{place}/{other['id']}"
        resolved = await bob.patch(one, json={"resolved": True})
        assert resolved.json() == {**written, "resolved": True}
        assert (await eve.patch(one, json={"resolved": False})).json() == written
        assert (await eve.patch(two, json={"resolved": True})).status_code == 403
        assert [(await who.delete(one)).status_code for who in (bob, eve, eve)] == [403, 204, 404]
        assert (await ann.delete(two)).status_code == 204
        assert (await ann.get(place)).json() == {"comments": [], "next": None}
        log = (await ann.get(f"/v1/events?stream=dashboard:{made.json()['id']}")).json()["events"]
        kinds = [one["event_type"] for one in log if "comment" in one["event_type"]]
        assert kinds == ["dashboard.commented"] * 2 + ["dashboard.uncommented"] * 2
        assert "Two" not in str(log)


async def test_comments_of_a_foreign_dashboard_are_missing(atoll: World) -> None:
    team = await _team(atoll)
    said = {"item_id": ITEM, "text": "Mine"}
    async with team.client("ann") as ann, team.client("bob") as bob, team.client("mallory") as far:
        boards = [
            (await who.post("/v1/dashboards", json={"name": "A"})).json()["id"]
            for who in (ann, bob)
        ]
        place, elsewhere = (f"/v1/dashboards/{one}/comments" for one in boards)
        written = (await ann.post(place, json=said)).json()["id"]

        async def statuses(who: Any, where: str) -> set[int]:
            one = f"{where}/{written}"
            answers = [await who.patch(one, json={"resolved": True}), await who.delete(one)]
            if where == place:
                answers += [await who.get(where), await who.post(where, json=said)]
            return {answer.status_code for answer in answers}

        assert await statuses(bob, place) == await statuses(far, place) == {404}
        assert await statuses(bob, elsewhere) == {404}
        await ann.delete(f"/v1/dashboards/{boards[0]}")
        assert await statuses(ann, place) == {404}


async def test_only_who_sees_the_dashboard_is_mentioned(atoll: World) -> None:
    team = await _team(atoll)
    async with team.client("ann") as ann:
        board = (await ann.post("/v1/dashboards", json={"name": "A"})).json()["id"]
        place = f"/v1/dashboards/{board}/comments"

        async def mention(*people: str) -> Any:
            body = {"item_id": ITEM, "text": "See", "mentions": people}
            return (await ann.post(place, json=body)).json()

        refused = [await mention("ann", one) for one in ("bob", "mallory", "nobody")]
        assert {one["field"] for one in refused} == {"mentions"}
        assert len({one["detail"] for one in refused}) == 1
        await ann.put(f"/v1/dashboards/{board}/people/bob", json={"role": "viewer"})
        assert (await mention("bob", "ann", "bob"))["mentions"] == ["bob", "ann"]
        # Who leaves keeps what they wrote, under their name.
        async with team.client("bob") as bob:
            await bob.post(place, json={"item_id": ITEM, "text": "Bye"})
        await ann.delete(f"/v1/dashboards/{board}/people/bob")
        found = (await ann.get(place)).json()["comments"]
        assert ("bob", "Bye") in {(one["author"], one["text"]) for one in found}


async def test_comments_are_bounded(atoll: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atoll.domain.dashboards.comment.MAX_COMMENTS", 1)
    async with client_of(atoll.url, atoll.token) as client:
        board = (await client.post("/v1/dashboards", json={"name": "A"})).json()["id"]
        place = f"/v1/dashboards/{board}/comments"
        for bad in (
            {"item_id": "x", "text": "a"},
            {"item_id": ITEM, "text": "é" * 2049},
            {"item_id": ITEM, "text": "a\x00"},
            {"item_id": ITEM, "text": "a", "mentions": ["a"] * 21},
        ):
            assert (await client.post(place, json=bad)).status_code == 422
        said = {"item_id": ITEM, "text": "a"}
        answers = [await client.post(place, json=said) for _ in range(2)]
        assert [one.status_code for one in answers] == [201, 429]
        assert answers[0].json()["author_name"] is None
