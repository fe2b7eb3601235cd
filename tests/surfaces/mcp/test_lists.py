"""Clients learn that the list of what their token may call has changed, in both eras."""

import asyncio
import json
from typing import Any

import pytest
from mcp.client.subscriptions import ToolsListChanged

from atoll.services.people.org_events import org_stream
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World
from tests.surfaces.mcp.conftest import Connect
from tests.surfaces.mcp.test_watches import Session, session

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def _names(one: Session) -> set[str]:
    told: Any = await one.ask("tools/list")
    return {tool["name"] for tool in told["result"]["tools"]}


async def _set_role(team: Team, role: str) -> None:
    path = "/v1/organizations/acme/members/ada"
    done = await team.call(None, "PATCH", path, json={"role": role})
    assert done.status_code == 200, done.text


async def test_role_that_grows_is_told_on_the_standing_stream(atoll: World) -> None:
    team = await team_of(atoll, ada="viewer")
    async with session(atoll, "token-of-ada") as one:
        assert "atoll.create" not in await _names(one)
        async with one.stream() as stream:
            await _set_role(team, "member")
            assert await stream.message() == CHANGED
            assert "atoll.create" in await _names(one)
            # What is no change of the list says nothing; the next message is of the next change.
            await _set_role(team, "admin")
            await _set_role(team, "viewer")
            assert await stream.message() == CHANGED


async def test_change_before_the_stream_is_told_when_it_opens(atoll: World) -> None:
    team = await team_of(atoll, ada="viewer")
    async with session(atoll, "token-of-ada") as one:
        await _set_role(team, "member")
        async with one.stream() as stream:
            assert await stream.message() == CHANGED


async def test_role_that_another_replica_set_is_told(atoll: World) -> None:
    team = await team_of(atoll, ada="viewer")
    async with session(atoll, "token-of-ada") as one, one.stream() as stream:
        await team.as_role("ada", OrgRole.MEMBER)
        # The watch over the log announces the events of other replicas.
        atoll.ground.bus.announce((org_stream(team.people["token-of-ada"].org_id),))
        assert await stream.message() == CHANGED


@pytest.mark.parametrize("era", ["auto"], indirect=True)
async def test_newest_revision_hears_of_lists_that_it_asked_for(
    atoll: World, connect: Connect
) -> None:
    team = await team_of(atoll, ada="viewer")
    async with connect("token-of-ada") as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        assert client.server_capabilities.resources is not None
        assert not client.server_capabilities.resources.list_changed
        asked = client.listen(tools_list_changed=True, prompts_list_changed=True)
        async with asked as listening, asyncio.timeout(5):
            assert listening.honored.tools_list_changed
            assert not listening.honored.prompts_list_changed
            await _set_role(team, "member")
            assert await anext(aiter(listening)) == ToolsListChanged()


async def test_lists_of_equal_tools_have_one_mark(atoll: World) -> None:
    async with session(atoll) as one, session(atoll) as other:
        marks = [
            await atoll.services.tools.sessions._claims(held.headers["Mcp-Session-Id"])
            for held in (one, other)
        ]
    assert marks[0] is not None and marks[1] is not None
    assert marks[0].tools == marks[1].tools != ""
    assert len(json.dumps(marks[0].tools)) < 32
