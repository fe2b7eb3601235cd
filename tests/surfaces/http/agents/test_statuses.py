"""What all agents do, over HTTP."""

import msgspec

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.projection import ModelState
from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.wire.api.agents.agents import PlacedAgentList
from atoll.wire.contract.agents import StatusKind, StatusOption, StatusRecord
from tests.surfaces.http.world import World, client_of

AT = "2026-01-01T00:00:00.000Z"


def agent(name: str, status: StatusKind) -> ReportedAgent:
    options = (StatusOption("allow", "Allow", "allow"),)
    return ReportedAgent(name, "codex", "machine", StatusRecord(status, AT, options=options))


async def test_agents_of_all_sandboxes_come_with_those_first_that_need_their_person(
    atoll: World,
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"name": "one"})
        sandbox = await atoll.services.sandboxes.get(LOCAL_PERSON, made.json()["sandbox_id"])
        async with atoll.ground.store.begin() as rows:
            agents = [agent("t_1", "working"), agent("t_2", "needs_you")]
            state = ModelState(msgspec.json.encode(agents).decode(), 1)
            await rows.projections.put("agents", f"sandbox:{sandbox.id}", state)
        answer = await client.get("/v1/agents")
        again = await client.get("/v1/sandboxes")
    declared = msgspec.convert(answer.json(), PlacedAgentList)
    assert msgspec.to_builtins(declared) == answer.json()
    first, second = answer.json()["agents"]
    assert (first["id"], first["sandbox_name"], second["id"]) == ("t_2", "one", "t_1")
    assert first["status"]["options"] == [{"id": "allow", "label": "Allow", "effect": "allow"}]
    (shown,) = again.json()["sandboxes"]
    assert [one["status"]["status"] for one in shown["agents"]] == ["needs_you", "working"]
