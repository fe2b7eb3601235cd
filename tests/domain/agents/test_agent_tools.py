"""Atoll's tools in the catalogue: every agent that takes them is told in its own words."""

import json
import tomllib

import pytest

from atoll.domain.agents.agent import TOOLS_PROGRAM, Agent, AgentTools
from atoll.domain.agents.registry import AGENTS, find
from atoll.domain.broker.control_plane import FLAT_TOOLS_URL, TOOLS_URL

TAKERS = [one for one in AGENTS if one.mcp is not None]
WAYS = ("http", "stdio")


def setup_of(agent: Agent, way: str) -> AgentTools:
    found = agent.mcp if way == "http" else agent.mcp_stdio
    assert found is not None
    return found


def told(tools: AgentTools) -> str:
    files = [*(one.content for one in tools.files), *(one.content for one in tools.seeds)]
    return " ".join((*tools.argv, *files, tools.machine_url, *tools.machine_argv))


def test_six_agents_take_tools_in_both_ways() -> None:
    names = {one.name for one in TAKERS}
    assert names == {"claude-code", "codex", "opencode", "qwen-code", "gemini-cli", "cursor-agent"}
    assert {one.name for one in AGENTS if one.mcp_stdio is not None} == names


@pytest.mark.parametrize("agent", TAKERS, ids=lambda one: one.name)
def test_agent_is_told_of_the_door_and_of_no_credential(agent: Agent) -> None:
    http, stdio = (told(setup_of(agent, way)) for way in WAYS)
    assert TOOLS_URL in http and "uthorization" not in http + stdio
    assert TOOLS_PROGRAM in stdio and TOOLS_URL not in stdio


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("agent", TAKERS, ids=lambda one: one.name)
def test_file_of_tools_has_all_that_the_file_it_replaces_has(agent: Agent, way: str) -> None:
    usual = {one.suffix: one for one in agent.watch_files}
    for one in setup_of(agent, way).files:
        before, after = json.loads(usual[one.suffix].content), json.loads(one.content)
        assert one.variable == usual[one.suffix].variable
        assert before.items() <= after.items() and before != after


def test_codex_is_told_in_toml_beside_a_persons_own_servers() -> None:
    for way, where in zip(WAYS, ({"url": TOOLS_URL}, {"command": TOOLS_PROGRAM}), strict=True):
        argv = setup_of(find("codex"), way).argv
        assert argv[0::2] == ("-c", "-c")
        server = tomllib.loads("\n".join(argv[1::2]))["mcp_servers"]["atoll"]
        assert server == {**where, "default_tools_approval_mode": "approve"}


def test_agent_that_passes_names_on_gets_flat_ones() -> None:
    http, stdio = (setup_of(find("qwen-code"), way) for way in WAYS)
    assert not http.machine_url and http.machine_argv == stdio.machine_argv
    server = json.loads(http.files[0].content)["mcpServers"]["atoll"]
    # It gives a remote server up after five seconds, unless it is told otherwise.
    assert server["httpUrl"] == FLAT_TOOLS_URL and server["discoveryTimeoutMs"] >= 60_000
    assert stdio.machine_argv == (TOOLS_PROGRAM, "--flat")
    assert json.loads(stdio.files[0].content)["mcpServers"]["atoll"]["args"] == ["--flat"]


def test_shells_of_qwens_tools_get_the_proxy_back_and_nothing_else() -> None:
    (shells,) = [one for one in find("qwen-code").seeds if one.path == ".qwen/tools.sh"]
    lines = shells.content.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("export ") and ":3128}" in line for line in lines)
