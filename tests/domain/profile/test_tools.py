"""The `mcp:` section: what a sandbox's agents may call, read strictly and written back."""

import json

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.domain.profile.schema import profile_document, read_profile
from atoll.domain.tools.rule import ChildQuota, ProfileTools, ToolTransport, chosen_setup
from atoll.domain.tools.tool import READS, Effects, Tool
from atoll.wire.words.agents import ToolRule

HEAD = "id: profile.x\nversion: '1.0.0'\n"


def tool(name: str, effects: Effects = READS) -> Tool:
    return Tool(name, "Does it.", Capability.EVENT_READ, effects, inside=Capability.EVENT_READ)


def test_section_is_read_and_written_back() -> None:
    profile = read_profile(
        HEAD + "mcp: {enabled: true, namespaces: [events, sandbox.stripe], "
        "tools: {events.watch: deny, atoll.write: ask}, watch: [gha/run/*, hr/apps/shop], "
        "transport: stdio}\n"
    )
    assert profile.mcp.namespaces == ("events", "sandbox.stripe")
    assert profile.mcp.rules == {"atoll.write": ToolRule.ASK, "events.watch": ToolRule.DENY}
    assert profile.mcp.watch == ("gha/run/*", "hr/apps/shop")
    assert profile.mcp.transport is ToolTransport.STDIO
    assert read_profile(json.dumps(profile_document(profile))) == profile


def test_profile_without_the_section_has_every_tool() -> None:
    for document in (HEAD, HEAD + "mcp: {}\n"):
        profile = read_profile(document)
        assert profile.mcp == ProfileTools()
        assert profile.mcp.rule_of(tool("events.recent")) is ToolRule.ALLOW
        assert profile.mcp.rule_of(tool("flux.undo", Effects(destructive=True))) is ToolRule.ASK
        assert read_profile(json.dumps(profile_document(profile))) == profile


def test_rule_of_a_tool_precedes_its_namespace_and_disabled_precedes_both() -> None:
    tools = ProfileTools(
        namespaces=("events", "sandbox"),
        rules={"events.watch": ToolRule.DENY, "atoll.list": ToolRule.ALLOW},
    )
    names = ("events.recent", "events.watch", "sandbox.stripe.list", "sandboxes.list", "atoll.list")
    verdicts = [tools.rule_of(tool(name)) for name in names]
    allow, deny = ToolRule.ALLOW, ToolRule.DENY
    assert verdicts == [allow, deny, allow, deny, allow]
    assert [tools.offers(tool(name)) for name in names] == [one is allow for one in verdicts]
    off = ProfileTools(enabled=False, rules={"events.recent": allow})
    assert off.rule_of(tool("events.recent")) is deny
    assert ProfileTools(namespaces=()).rule_of(tool("events.recent")) is deny


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ("mcp: [a]\n", "mcp"),
        ("mcp: {enabled: perhaps}\n", "mcp.enabled"),
        ("mcp: {namespaces: ['a b']}\n", "mcp.namespaces"),
        ("mcp: {tools: [events.recent]}\n", "mcp.tools"),
        ("mcp: {tools: {recent: deny}}\n", "mcp.tools.recent"),
        ("mcp: {tools: {events.recent: maybe}}\n", "mcp.tools.events.recent"),
        ("mcp: {watch: ['atoll://gha/run/*']}\n", "mcp.watch"),
        ("mcp: {watch: [weather/x]}\n", "mcp.watch"),
        ("mcp: {tool: {}}\n", "mcp.tool"),
        ("mcp: {children: 3}\n", "mcp.children"),
        ("mcp: {children: {depth: 1}}\n", "mcp.children"),
        ("mcp: {children: {live: 0}}\n", "mcp.children.live"),
        ("mcp: {children: {live: 1, per_hour: 101}}\n", "mcp.children.per_hour"),
        ("mcp: {children: {live: 1, depth: 4}}\n", "mcp.children.depth"),
        ("mcp: {children: {live: 1, width: 4}}\n", "mcp.children.width"),
        ("mcp: {transport: pigeon}\n", "mcp.transport"),
    ],
)
def test_wrong_section_is_refused_with_its_field(section: str, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_profile(HEAD + section)
    assert str(caught.value.field).startswith(field)


def test_children_are_read_with_the_least_that_is_left_out() -> None:
    profile = read_profile(HEAD + "mcp: {children: {live: 3}}\n")
    assert profile.mcp.children == ChildQuota(3, 3, 1)
    assert profile.mcp.children.of_children is None
    assert read_profile(json.dumps(profile_document(profile))) == profile
    deep = read_profile(HEAD + "mcp: {children: {live: 3, per_hour: 9, depth: 2}}\n").mcp.children
    assert deep is not None and deep.of_children == ChildQuota(3, 9, 1)


def test_agent_is_told_in_the_profiles_way_or_in_the_only_one_it_takes() -> None:
    http, stdio = ProfileTools(), ProfileTools(transport=ToolTransport.STDIO)
    assert (chosen_setup(http, "h", "s"), chosen_setup(stdio, "h", "s")) == ("h", "s")
    assert (chosen_setup(http, None, "s"), chosen_setup(stdio, "h", None)) == ("s", "h")
    assert chosen_setup(http, None, None) is None
    assert chosen_setup(ProfileTools(enabled=False), "h", "s") is None
