"""The agents of the installation over HTTP: which work, and the install of one."""

import asyncio

from tests.surfaces.http.world import World, client_of


async def test_catalogue_says_what_each_agent_lacks(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        before = {
            one["name"]: one for one in (await client.get("/v1/agent-catalogue")).json()["agents"]
        }
        assert before["codex"]["state"] == "key_missing" and before["codex"]["prompts"]
        assert before["codex"]["mend"] == "atoll secret set openai --provider openai"
        assert before["shell"]["state"] == "works" and not before["shell"]["prompts"]
        secret = {"name": "O", "value": "sk-1234567890", "kind": "provider", "provider": "openai"}
        assert (await client.post("/v1/secrets", json=secret)).status_code == 201
        agents = (await client.get("/v1/agent-catalogue")).json()["agents"]
    assert next(one for one in agents if one["name"] == "codex")["state"] == "works"
    order = ["works", "key_missing", "not_installed", "unavailable"]
    places = [order.index(one["state"]) for one in agents]
    assert places == sorted(places)


async def test_install_ends_in_an_event_and_an_unknown_agent_is_not_found(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        begun = await client.post("/v1/agent-catalogue/codex/install")
        assert (begun.status_code, begun.json()["failed"]) == (202, None)
        query = {"stream": "agents"}
        async with asyncio.timeout(10):
            found: list[dict[str, object]] = []
            while not found:
                found = (await client.get("/v1/events", params=query)).json()["events"]
        assert found[0]["event_type"] == "agent.installed"
        assert (await client.post("/v1/agent-catalogue/nobody/install")).status_code == 404
        assert (await client.post("/v1/agent-catalogue/cursor/install")).status_code == 422


async def test_profile_that_cannot_be_used_here_says_why(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        listed = (await client.get("/v1/profiles")).json()["profiles"]
    obstacles = {one["id"]: one["obstacle"] for one in listed}
    assert obstacles["profile.shell"] is None
