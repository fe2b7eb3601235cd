"""Atoll's tools in the catalogue: every agent that takes them is told in its own words."""

import json
import tomllib

import pytest

from atoll.domain.agent.agent import Agent
from atoll.domain.agent.registry import AGENTS, find
from atoll.domain.broker.control_plane import FLAT_TOOLS_URL, TOOLS_URL


def told(agent: Agent) -> str:
    assert agent.mcp is not None
    files = [*(one.content for one in agent.mcp.files), *(one.content for one in agent.mcp.seeds)]
    return " ".join((*agent.mcp.argv, *files, agent.mcp.machine_url))


def test_five_agents_take_tools() -> None:
    takers = {one.name for one in AGENTS if one.mcp is not None}
    assert takers == {"claude-code", "codex", "opencode", "qwen-code", "gemini-cli"}


@pytest.mark.parametrize("agent", [one for one in AGENTS if one.mcp], ids=lambda one: one.name)
def test_agent_is_told_of_the_door_and_of_no_credential(agent: Agent) -> None:
    assert TOOLS_URL in told(agent) and "uthorization" not in told(agent)


@pytest.mark.parametrize("agent", [one for one in AGENTS if one.mcp], ids=lambda one: one.name)
def test_file_of_tools_has_all_that_the_file_it_replaces_has(agent: Agent) -> None:
    assert agent.mcp is not None
    usual = {one.suffix: one for one in agent.watch_files}
    for one in agent.mcp.files:
        before, after = json.loads(usual[one.suffix].content), json.loads(one.content)
        assert one.variable == usual[one.suffix].variable
        assert before.items() <= after.items() and before != after


def test_codex_is_told_in_toml_beside_a_persons_own_servers() -> None:
    codex = find("codex")
    assert codex.mcp is not None and codex.mcp.argv[0::2] == ("-c", "-c")
    server = tomllib.loads("\n".join(codex.mcp.argv[1::2]))["mcp_servers"]["atoll"]
    assert server == {"url": TOOLS_URL, "default_tools_approval_mode": "approve"}


def test_agent_that_passes_names_on_gets_flat_ones() -> None:
    qwen = find("qwen-code")
    assert qwen.mcp is not None and qwen.mcp.machine_url == FLAT_TOOLS_URL
    assert FLAT_TOOLS_URL in qwen.mcp.files[0].content
