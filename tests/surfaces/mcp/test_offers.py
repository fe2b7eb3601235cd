"""What a sandbox has of the tools, and how far a caller's own request narrows them."""

from typing import Any

import httpx
import pytest
from mcp.shared.exceptions import MCPError

from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.tools.answer import Answer
from atoll.domain.tools.offer import ToolReach
from atoll.domain.tools.tool import Effects
from atoll.surfaces.mcp import toolbox as tools
from atoll.surfaces.mcp.definition import Arguments, Call, Namespace
from tests.surfaces.http.people.test_tokens import _pat, _sandbox
from tests.surfaces.http.world import World, client_of
from tests.surfaces.mcp.conftest import Connect
from tests.surfaces.mcp.test_entry import ACCEPT, INITIALIZE, LIST
from tests.surfaces.mcp.test_inside import PROFILE
from tests.surfaces.mcp.test_tools import value_of

far = Namespace("far")


class Nothing(Arguments, frozen=True):
    """No arguments."""


@far.tool("send", Capability.EVENT_READ, Effects(outside=True), inside=Capability.EVENT_READ)
async def send(call: Call, arguments: Nothing) -> Answer:
    """Send something outside."""
    return Answer({"sent": True})


@pytest.fixture
def with_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """One tool more, which reaches outside."""
    more = tools.Toolbox([*tools.toolbox().all(), *far.tools])
    monkeypatch.setattr(tools, "toolbox", lambda _=(): more)


async def _listed(atoll: World, query: str, token: str = "", **headers: str) -> httpx.Response:
    async with client_of(atoll.url, token or atoll.token) as client:
        return await client.post(f"/mcp{query}", json=LIST, headers={**ACCEPT, **headers})


def _names(answer: httpx.Response) -> list[str]:
    return [one["name"] for one in answer.json()["result"]["tools"]]


async def _offers(atoll: World, sandbox: str) -> dict[str, Any]:
    async with client_of(atoll.url, atoll.token) as client:
        found = (await client.get(f"/v1/sandboxes/{sandbox}/tools")).json()["tools"]
    return {one["name"]: one for one in found}


async def test_every_tool_is_shown_with_the_reason_for_what_is_missing(
    atoll: World, with_far: None
) -> None:
    section = "mcp: {tools: {events.watch: deny}}\n"
    await atoll.services.profiles.save(LOCAL_PERSON, "bound", PROFILE + section)
    made = await _sandbox(atoll, profile="bound", name="one")
    found = await _offers(atoll, "one")
    assert found["events.recent"] == {
        "name": "events.recent",
        "permission": "event.read",
        "rule": "allow",
        "missing": None,
        "reason": None,
    }
    assert found["events.watch"]["missing"] == "denied_by_profile"
    assert found["events.watch"]["reason"] == "the profile denies it"
    assert found["far.send"]["missing"] == "not_configured"
    # What is shown is what agents inside have.
    shown = [name for name, one in found.items() if one["missing"] is None]
    assert _names(await _listed(atoll, "?sandbox=one")) == shown
    assert (await _offers(atoll, made))["far.send"] == found["far.send"]


async def test_what_reaches_outside_is_there_where_it_is_configured_and_not_for_an_anonymous_agent(
    atoll: World, with_far: None, connect: Connect
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("far.send", {})
        atoll.services.tools.lists.reach = ToolReach(("far",))
        assert value_of(await client.call_tool("far.send", {})) == {"sent": True}
    async with connect(query="?reach=home") as client:
        names = [one.name for one in (await client.list_tools()).tools]
        assert "far.send" not in names and "atoll.list" in names
        told = value_of(await client.call_tool("far.send", {}))
        assert told["code"] == "forbidden" and "needs the permission" in told["message"]


async def test_caller_takes_over_a_sandbox_of_theirs_alone(atoll: World) -> None:
    one, _ = await _sandbox(atoll, name="one"), await _sandbox(atoll, name="two")
    bound = (await _pat(atoll, sandbox_id=one))["token"]
    assert (await _listed(atoll, "?sandbox=one", bound)).status_code == 200
    for query, token in (("?sandbox=two", bound), ("?sandbox=none", ""), ("?sandbox=", "")):
        answer = await _listed(atoll, query, token)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    narrow = (await _pat(atoll, capabilities=[Capability.SANDBOX_READ]))["token"]
    assert _names(await _listed(atoll, "?sandbox=one", narrow)) == []


async def test_session_is_one_of_its_credential_whatever_it_narrows(atoll: World) -> None:
    await _sandbox(atoll, name="one")
    async with client_of(atoll.url, atoll.token) as client:
        begun = await client.post("/mcp?sandbox=one", json=INITIALIZE, headers=ACCEPT)
    session = begun.headers["mcp-session-id"]
    answer = await _listed(atoll, "?sandbox=one", **{"Mcp-Session-Id": session})
    assert _names(answer) == ["events.recent", "events.watch"]
