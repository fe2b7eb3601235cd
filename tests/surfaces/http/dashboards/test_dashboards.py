"""Dashboards over the API: who finds which, and what may be done with it."""

import json
from datetime import timedelta
from typing import Any

from atoll.wire.words.people import OrgRole
from tests.surfaces.http.dashboards.tab import Tab
from tests.surfaces.http.team import Team
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/dashboards": {
        "name": "test_dashboard_is_made_changed_copied_deleted_and_restored",
        "scope": "test_dashboard_is_found_by_those_who_may_see_it_alone",
        "template": "test_dashboard_is_made_changed_copied_deleted_and_restored",
    },
    "PATCH /v1/dashboards/{dashboard}": {
        "name": "test_dashboard_is_made_changed_copied_deleted_and_restored",
        "scope": "test_dashboard_is_found_by_those_who_may_see_it_alone",
    },
    "POST /v1/dashboards/{dashboard}/copy": {
        "name": "test_dashboard_is_made_changed_copied_deleted_and_restored"
    },
    "POST /v1/dashboards/{dashboard}/terminals": {
        "agent": "test_first_terminal_starts_the_home_and_editors_may_use_it",
        "argv": "test_first_terminal_starts_the_home_and_editors_may_use_it",
        "cwd": "test_first_terminal_starts_the_home_and_editors_may_use_it",
        "name": "test_first_terminal_starts_the_home_and_editors_may_use_it",
        "cols": "test_first_terminal_starts_the_home_and_editors_may_use_it",
        "rows": "test_first_terminal_starts_the_home_and_editors_may_use_it",
    },
    "POST /v1/dashboards/{dashboard}/agents": {
        "agent": "test_first_terminal_starts_the_home_and_editors_may_use_it",
        "permissions": "test_first_terminal_starts_the_home_and_editors_may_use_it",
        "cols": "test_first_terminal_starts_the_home_and_editors_may_use_it",
        "rows": "test_first_terminal_starts_the_home_and_editors_may_use_it",
    },
    "PUT /v1/dashboards/{dashboard}/people/{subject}": {
        "role": "test_dashboard_is_found_by_those_who_may_see_it_alone"
    },
}


async def test_dashboard_is_made_changed_copied_deleted_and_restored(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        body = {"name": " Plan ", "template": "review"}
        made = (await client.post("/v1/dashboards", json=body)).json()
        place = f"/v1/dashboards/{made['id']}"
        assert (made["name"], made["role"], made["scope"]) == ("Plan", "owner", "private")
        assert made["items"] == 5 and made["sandbox_id"] is None
        changed = await client.patch(place, json={"name": "Plan 2"})
        assert changed.json() == {**made, "name": "Plan 2"}
        copied = await client.post(f"{place}/copy", json={"name": "Copy"})
        assert (copied.status_code, copied.json()["items"]) == (201, 5)
        assert (await client.delete(place)).status_code == 204
        assert [
            (await client.get(place)).status_code,
            (await client.delete(place)).status_code,
        ] == [
            404,
            404,
        ]
        listed = (await client.get("/v1/dashboards")).json()
        assert [one["name"] for one in listed["dashboards"]] == ["Copy"]
        restored = await client.post(f"{place}/restore")
        assert restored.json() == {**made, "name": "Plan 2"}
        await client.delete(place)
        atoll.clock.at += timedelta(days=7, seconds=1)
        assert (await client.post(f"{place}/restore")).status_code == 404
        await atoll.services.dashboards.sweep.sweep()
        bad = await client.post("/v1/dashboards", json={"name": "x", "template": "none"})
        assert (bad.status_code, bad.json()["field"]) == (422, "template")
    tab = Tab()
    async with tab.joined(atoll.url, copied.json()["id"], atoll.token):
        await tab.until(lambda: len(tab.items) == 5)
        kinds = sorted(one["kind"] for one in tab.state().values())
        assert kinds == ["approvals", "frame", "note", "note", "note"]


async def test_dashboard_is_found_by_those_who_may_see_it_alone(atoll: World) -> None:
    team = Team(atoll)
    await team.organization("personal")
    for name, role in (("ann", OrgRole.MEMBER), ("bob", OrgRole.MEMBER), ("eve", OrgRole.VIEWER)):
        await team.join(name, role)
    await team.organization("other")
    await team.join("mallory", org="other")

    async def seen(name: str, place: str) -> tuple[int, Any]:
        async with team.client(name) as client:
            listed = (await client.get("/v1/dashboards")).json()["dashboards"]
            answer = await client.get(place)
            assert [one["id"] for one in listed] == ([board] if answer.is_success else [])
            return answer.status_code, answer.json().get("role")

    async with team.client("ann") as client:
        made = await client.post("/v1/dashboards", json={"name": "A", "scope": "private"})
        board = made.json()["id"]
        place = f"/v1/dashboards/{board}"
        assert await seen("ann", place) == (200, "owner")
        assert await seen("bob", place) == (404, None)
        people = await client.put(f"{place}/people/bob", json={"role": "viewer"})
        assert [(one["subject"], one["role"]) for one in people.json()["people"]] == [
            ("ann", "owner"),
            ("bob", "viewer"),
        ]
        assert await seen("bob", place) == (200, "viewer")
        await client.put(f"{place}/people/bob", json={"role": "editor"})
        assert await seen("bob", place) == (200, "editor")
        owner = await client.put(f"{place}/people/bob", json={"role": "owner"})
        assert (owner.status_code, owner.json()["field"]) == (422, "role")
        assert (await client.put(f"{place}/people/no body", json={"role": "viewer"})).is_error
        await client.delete(f"{place}/people/bob")
        assert await seen("bob", place) == (404, None)
        assert (await client.patch(place, json={"scope": "shared"})).json()["scope"] == "shared"
    assert await seen("bob", place) == (200, "editor")
    assert await seen("eve", place) == (200, "viewer")
    assert await seen("mallory", place) == (404, None)
    async with team.client("bob") as client:
        assert (await client.delete(place)).status_code == 403
        assert (await client.patch(place, json={"name": "B"})).status_code == 403
    async with team.client("mallory") as client:
        missing = await client.delete("/v1/dashboards/dsh_none")
        foreign = await client.delete(place)
        told = foreign.json()
        told["detail"] = told["detail"].replace(board, "dsh_none")
        assert told == missing.json()


async def test_first_terminal_starts_the_home_and_editors_may_use_it(atoll: World) -> None:
    team = Team(atoll)
    await team.organization("personal")
    for name, role in (("ann", OrgRole.MEMBER), ("bob", OrgRole.MEMBER), ("eve", OrgRole.VIEWER)):
        await team.join(name, role)
    async with team.client("ann") as ann, team.client("bob") as bob, team.client("eve") as eve:
        board = (await ann.post("/v1/dashboards", json={"name": "A"})).json()["id"]
        place = f"/v1/dashboards/{board}"
        order = {"argv": ["sh"], "cwd": "/tmp", "name": "mine", "cols": 91, "rows": 17}
        opened = await ann.post(f"{place}/terminals", json=order)
        assert opened.status_code == 201, opened.text
        home = opened.json()["sandbox_id"]
        sent = [json.loads(body) for _, path, _, body in atoll.runtime.asked if path == "/sessions"]
        assert {name: sent[-1][name] for name in order} == order
        again = await ann.post(f"{place}/terminals", json={"agent": "codex"})
        assert again.json() == {"sandbox_id": home, "terminal_id": "t_1"}
        wanted = {"agent": "codex", "permissions": "ask", "cols": 91, "rows": 17}
        started = await ann.post(f"{place}/agents", json=wanted)
        assert started.status_code == 201, started.text
        assert started.json()["sandbox_id"] == home
        sent = [json.loads(body) for _, path, _, body in atoll.runtime.asked if path == "/agents"]
        assert {name: sent[-1][name] for name in wanted} == wanted
        assert (await bob.post(f"{place}/agents", json=wanted)).status_code == 404
        assert (await ann.get(place)).json()["sandbox_id"] == home
        assert (await bob.get(f"/v1/sandboxes/{home}")).status_code == 404
        assert (await bob.post(f"{place}/terminals")).status_code == 404
        await ann.put(f"{place}/people/bob", json={"role": "viewer"})
        assert (await bob.get(f"/v1/sandboxes/{home}/terminals")).status_code == 404
        assert (await bob.post(f"{place}/terminals")).status_code == 403
        await ann.put(f"{place}/people/bob", json={"role": "editor"})
        assert (await bob.get(f"/v1/sandboxes/{home}/terminals")).status_code == 200
        assert (await bob.post(f"{place}/terminals")).json()["sandbox_id"] == home
        assert (await bob.post(f"/v1/sandboxes/{home}/stop")).status_code == 403
        await ann.patch(place, json={"scope": "shared"})
        assert (await eve.get(f"/v1/sandboxes/{home}/terminals")).status_code == 200
        assert (await eve.post(f"{place}/terminals")).status_code == 403
        await ann.post(f"/v1/sandboxes/{home}/destroy")
        await atoll.services.sandboxes.wait(team.people["token-of-ann"], home, settled=True)
        renewed = await bob.post(f"{place}/terminals")
        assert renewed.json()["sandbox_id"] != home, renewed.text


async def test_sandbox_is_linked_by_who_manages_it_and_opens_to_editors(atoll: World) -> None:
    team = Team(atoll)
    await team.organization("personal")
    for name in ("ann", "bob"):
        await team.join(name, OrgRole.MEMBER)
    async with team.client("ann") as ann, team.client("bob") as bob:
        made = await ann.post("/v1/dashboards", json={"name": "A", "scope": "shared"})
        place = f"/v1/dashboards/{made.json()['id']}"
        box = (await bob.post("/v1/sandboxes?wait=ready", json={"profile": "shell"})).json()
        own = box["sandbox_id"]
        assert (await ann.post(f"{place}/sandboxes/{own}")).status_code == 404
        linked = await bob.post(f"{place}/sandboxes/{own}")
        assert linked.json()["linked"] == [own]
        assert (await ann.get(f"/v1/sandboxes/{own}")).status_code == 200
        assert (await ann.delete(f"{place}/sandboxes/{own}")).status_code == 204
        assert (await ann.get(f"/v1/sandboxes/{own}")).status_code == 404
