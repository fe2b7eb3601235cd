"""A sandbox's own token sees the tools inside that the profile of that sandbox offers."""

import pytest
from mcp.shared.exceptions import MCPError

from atoll.domain.people.principal import LOCAL_PERSON
from tests.surfaces.http.people.test_tokens import _held, _sandbox
from tests.surfaces.http.world import World
from tests.surfaces.mcp.conftest import Connect
from tests.surfaces.mcp.test_tools import value_of

PROFILE = "id: profile.bound\nversion: '1.0.0'\nextension: namespaces\n"


async def bound(atoll: World, section: str) -> str:
    """The token of a sandbox whose profile has this section."""
    await atoll.services.profiles.save(LOCAL_PERSON, "bound", PROFILE + section)
    held = await _held(atoll, await _sandbox(atoll, profile="bound"))
    return held.text


@pytest.mark.parametrize(
    ("section", "names"),
    [
        ("", ["events.recent", "events.watch"]),
        ("mcp: {enabled: false}\n", []),
        ("mcp: {namespaces: [flux]}\n", []),
        ("mcp: {tools: {events.watch: deny}}\n", ["events.recent"]),
        ("mcp: {namespaces: [], tools: {events.watch: allow}}\n", ["events.watch"]),
        # What is closed to every sandbox no profile opens.
        ("mcp: {namespaces: [], tools: {atoll.list: allow}}\n", []),
    ],
)
async def test_profile_narrows_what_is_listed_and_called(
    atoll: World, connect: Connect, section: str, names: list[str]
) -> None:
    token = await bound(atoll, section)
    async with connect(token) as client:
        assert [one.name for one in (await client.list_tools()).tools] == names
        for name in ("events.recent", "events.watch", "atoll.list"):
            arguments = {"after": 0, "seconds": 1} if name == "events.watch" else {}
            if name in names:
                assert "next" in value_of(await client.call_tool(name, arguments))
            else:
                with pytest.raises(MCPError, match="Unknown tool"):
                    await client.call_tool(name, arguments)


async def test_events_are_those_of_the_sandbox_alone(atoll: World, connect: Connect) -> None:
    await _sandbox(atoll, name="other")
    token = await bound(atoll, "")
    async with connect(token) as client:
        found = value_of(await client.call_tool("events.recent", {}))["events"]
    assert len({one["stream"] for one in found}) == 1 and found[0]["stream"].startswith("sandbox:")
