"""The tools `atoll.*` in the hand of an agent inside, whose profile lets it make sandboxes."""

import asyncio

import pytest

from atoll.domain.approvals.approval import ApprovalGrant, digest
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.wire.words.approvals import GrantScope
from tests.surfaces.http.people.test_tokens import _held, _pat, _sandbox
from tests.surfaces.http.world import World, client_of
from tests.surfaces.mcp.conftest import Connect
from tests.surfaces.mcp.test_inside import bound
from tests.surfaces.mcp.test_tools import value_of

PROFILE = (
    "id: profile.family\nversion: '1.0.0'\nextension: namespaces\n"
    "mcp: {children: {live: 1}, tools: {atoll.write: allow}}\n"
)
FOREIGN = {
    "atoll.wait": {},
    "atoll.exec": {"command": "true"},
    "atoll.read": {"path": "a"},
    "atoll.write": {"path": "a", "text": "x"},
    "atoll.ask": {"prompt": "x"},
}


async def parent_in(atoll: World) -> str:
    """The token of a sandbox that may have one child."""
    await atoll.services.profiles.save(LOCAL_PERSON, "family", PROFILE)
    held = await _held(atoll, await _sandbox(atoll, profile="family", name="parent"))
    return held.text


async def test_child_is_made_used_and_destroyed_after_its_person_says_yes(
    atoll: World, connect: Connect
) -> None:
    token = await parent_in(atoll)
    async with connect(token) as client:
        made = value_of(await client.call_tool("atoll.create", {"name": "one"}))["sandbox"]
        ready = value_of(await client.call_tool("atoll.wait", {"sandbox": "one"}))["sandbox"]
        ran = await client.call_tool("atoll.exec", {"sandbox": "one", "command": "true"})
        listed = value_of(await client.call_tool("atoll.list", {}))["sandboxes"]
        second = value_of(await client.call_tool("atoll.create", {"name": "two"}))
        async with asyncio.TaskGroup() as tasks:
            going = {"sandbox": "one", "unpulled": "lose"}
            ending = tasks.create_task(client.call_tool("atoll.destroy", going))
            await _approved(atoll)
        gone = value_of(ending.result())["sandbox"]
    assert made["profile"] == "profile.family" and ready["state"] in {"ready", "active"}
    assert value_of(ran)["state"] == "exited"
    assert [one["sandbox_id"] for one in listed] == [made["sandbox_id"]]
    assert second["code"] == "limit_reached"
    assert gone["state"] in {"destroying", "destroyed"}
    async with client_of(atoll.url, atoll.token) as http:
        shown = (await http.get(f"/v1/sandboxes/{made['sandbox_id']}")).json()
        told = (await http.get("/v1/events", params={"stream": "tools"})).json()["events"]
    assert shown["parent"] == made["parent"]
    assert {one["payload"]["permission"] for one in told} == {"sandbox.children"}
    assert {one["payload"]["sandbox_id"] for one in told} == {made["parent"]}


async def _approved(atoll: World) -> None:
    """Approve the one request that comes."""
    approvals, bus = atoll.services.approvals, atoll.ground.bus
    with bus.listen() as listener:
        while not (found := (await approvals.list(LOCAL_PERSON)).rows):
            await listener.wait()
    grant = ApprovalGrant(GrantScope.ONCE, None, digest(found[0]))
    await approvals.approve(LOCAL_PERSON, found[0].id, grant)


async def test_foreign_sandbox_is_a_missing_one(atoll: World, connect: Connect) -> None:
    await _sandbox(atoll, name="sibling")
    token = await parent_in(atoll)
    async with connect(token) as client:
        for name, more in FOREIGN.items():
            missing = value_of(await client.call_tool(name, {"sandbox": "nobody", **more}))
            assert missing["code"] == "not_found"
            for ref in ("sibling", "parent"):
                found = value_of(await client.call_tool(name, {"sandbox": ref, **more}))
                assert found == {**missing, "message": missing["message"].replace("nobody", ref)}
        assert value_of(await client.call_tool("atoll.list", {}))["sandboxes"] == []
        bigger = value_of(await client.call_tool("atoll.create", {"profile": "shell"}))
    assert (bigger["code"], bigger["field"]) == ("forbidden", "profile")


async def test_token_that_a_person_made_for_a_sandbox_makes_none(
    atoll: World, connect: Connect
) -> None:
    await parent_in(atoll)
    token = (await _pat(atoll, sandbox_id="parent"))["token"]
    with pytest.raises(AssertionError, match=r"cannot give 'sandbox\.children'"):
        await _pat(atoll, sandbox_id="parent", capabilities=["sandbox.children"])
    async with connect(token) as client:
        told = value_of(await client.call_tool("atoll.create", {}))
        assert told["code"] == "forbidden" and "sandbox.children" in told["message"]


async def test_sandbox_without_the_section_sees_none_of_it(atoll: World, connect: Connect) -> None:
    async with connect(await bound(atoll, "")) as client:
        names = {one.name for one in (await client.list_tools()).tools}
    assert not {name for name in names if name.startswith("atoll.")}
