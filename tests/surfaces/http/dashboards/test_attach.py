"""Editing a dashboard together, over the real server."""

from tests.surfaces.http.dashboards.tab import Tab, item_id
from tests.surfaces.http.world import World, client_of


async def make(atoll: World, **body: object) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/dashboards", json={"name": "Board", **body})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])


async def test_edits_of_one_tab_are_seen_by_the_other_and_outlast_both(atoll: World) -> None:
    board = await make(atoll)
    one, two, three = Tab(), Tab(), Tab()
    async with one.joined(atoll.url, board, atoll.token):
        told = await one.told("welcome")
        assert (told["role"], told["limits"]["items"]) == ("owner", 2000)
        assert await one.told("heartbeat") == {"type": "heartbeat", "every_ms": 2000}
        async with two.joined(atoll.url, board, atoll.token):
            one.add(1, "hello")
            await one.saved()
            await two.until(lambda: item_id(1) in two.items)
            two.items[item_id(1)]["text"].insert(5, " you")
            one.items[item_id(1)]["x"] = 7
            await two.saved()
            await one.until(lambda: str(one.items[item_id(1)]["text"]) == "hello you")
            await two.until(lambda: two.items[item_id(1)]["x"] == 7)
            assert one.state() == two.state()
            await one.present(1, {"cursor": None})
            await two.until(lambda: one.client in two.presences)
            async with client_of(atoll.url, atoll.token) as client:
                (listed,) = (await client.get("/v1/dashboards")).json()["dashboards"]
                shown = (await client.get(f"/v1/dashboards/{board}")).json()
                me = (await client.get("/v1/me")).json()
            assert [one["id"] for one in shown["present"]] == [me["id"]]
            assert listed["present"] == shown["present"]
    async with three.joined(atoll.url, board, atoll.token):
        await three.until(lambda: item_id(1) in three.items)
        assert three.state() == one.state()
