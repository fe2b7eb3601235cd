"""`atoll agent`: what a person sees of the agents of their machine."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from atoll.domain.agents.registry import find
from atoll.surfaces.cli.commands.agents import control as agent_control
from atoll.testing import FakeAgentShelf, FakeHost
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, problem

PINNED = "0.171.0"


@pytest.fixture
def machine(tmp_path: Path) -> FakeHost:
    """A machine with two versions of codex, and a shell of its own."""
    codex, package = find("codex"), find("codex").package
    assert package is not None
    codex = replace(codex, package=replace(package, version=PINNED))
    agents = [codex, find("opencode"), find("shell")]
    shelf = FakeAgentShelf(agents, {"codex": ["0.1", PINNED]}, frozenset({"shell"}))
    return FakeHost(tmp_path, shelf=shelf)


@pytest.fixture
def agent(cli: Cli, machine: FakeHost) -> Callable[..., Any]:
    return lambda *words: cli("agent", *words, host=lambda: machine)


def test_agent_list_shows_versions_of_this_home(
    agent: Callable[..., Any], machine: FakeHost, environ: dict[str, str]
) -> None:
    ran = agent("list")
    assert ran.code == 0
    assert ran.out.splitlines()[1].split()[:3] == ["codex", "0.171.0,", "0.1"]
    assert "on this host" in ran.out
    assert machine.homes == [Path(environ["ATOLL_HOME"])]


def test_agent_list_as_json_says_how_each_is_run(agent: Callable[..., Any]) -> None:
    codex = json.loads(agent("list", "--json").out)["agents"][0]
    assert codex["installed"] == ["0.171.0", "0.1"]
    assert codex["task_argv"][:2] == ["codex", "exec"]
    assert codex["state"] == [".codex"]


def test_agent_install_tells_progress_apart_from_its_answer(agent: Callable[..., Any]) -> None:
    ran = agent("install", "codex", "opencode")
    assert re.fullmatch(
        f"codex {PINNED} was installed already\nopencode [0-9.]+ installed\n", ran.out
    )
    assert "fetching" in ran.err and "fetching" not in ran.out
    assert "a sandbox that runs already gets it by `atoll stop NAME` and `atoll start" in ran.err
    assert "atoll stop" not in agent("install", "codex").err, "it was there already"
    assert "a sandbox that runs already gets it by" in agent("info", "codex").err


def test_info_names_agents_that_a_sandbox_that_runs_does_not_have(
    cli: Cli, server: Scripted
) -> None:
    states = {"codex": "works", "aider": "key_missing", "opencode": "not_installed"}
    entries = [
        {"name": name, "state": state} for name, state in {**states, "shell": "works"}.items()
    ]
    server.answers["GET /v1/agent-catalogue"] = lambda _: web.json_response({"agents": entries})
    again = "`atoll stop box` and `atoll start box` bring in what was installed later"
    for fields, names in (
        ({"agents_inside": []}, "codex, aider"),
        ({"agents_inside": ["codex@1"]}, "aider"),
        ({"agents_inside": ["codex@1"], "agent_catalogue": ["codex"]}, ""),
        ({"agents_inside": ["codex@1"], "state": "stopped"}, ""),
        ({"agents_inside": None}, ""),
    ):
        server.add("box", **fields)
        ran = cli("info", "box")
        assert ran.code == 0
        assert (f"not inside    {names}: {again}" in ran.out) is bool(names), ran.out
        assert ("not inside" in ran.out) is bool(names)


def test_agent_install_takes_a_version_for_one_agent_only(
    agent: Callable[..., Any], machine: FakeHost
) -> None:
    assert agent("install", "codex", "--version", "0.1").code == 0
    assert machine.shelf.asked == [("codex", "0.1")]
    assert agent("install", "codex", "aider", "--version", "0.1").code == 2


def test_agent_install_of_an_unknown_one_is_not_found(agent: Callable[..., Any]) -> None:
    ran = agent("install", "nobody", "--json")
    assert (ran.code, ran.out) == (3, "")
    assert "no agent is called" in ran.err


def test_agent_update_without_names_takes_what_is_installed(
    agent: Callable[..., Any], machine: FakeHost
) -> None:
    assert agent("update").code == 0
    assert machine.shelf.asked == [("codex", None)]


def test_agent_remove_asks_first(agent: Callable[..., Any], machine: FakeHost) -> None:
    assert agent("remove", "codex").code == 1
    assert not machine.shelf.asked
    ran = agent("remove", "codex", "--yes", "--version", "0.1", "--json")
    assert json.loads(ran.out)["agents"][0]["version"] == "0.1"


AGENT = {"id": "t_1", "agent": "codex", "mode": "tui", "agent_state": "running", "turn": "waiting"}
ENDED = {**AGENT, "id": "g_2", "agent": "claude", "agent_state": "stopped"}
CARD = {"id": "approval:0", "kind": "approval", "state": "pending", "title": "Write?", "text": "",
        "options": [{"id": "accept"}, {"id": "decline"}]}  # fmt: skip


@pytest.fixture
def agents(server: Scripted) -> list[dict[str, Any]]:
    """What the server says of a sandbox's agents; change it freely."""
    rows = [AGENT, ENDED]
    box = "/v1/sandboxes/box"
    asked = ("t_1/agent", "t_1/ask", "g_2/ask")
    server.answers |= {
        f"GET {box}/agents": lambda _: web.json_response({"agents": rows}),
        f"POST {box}/agents": lambda _: web.json_response(AGENT, status=201),
        f"GET {box}/terminals/t_1/cards": lambda _: web.json_response({"cards": [CARD]}),
        f"POST {box}/terminals/t_1/cards/approval:0/answer": lambda _: web.json_response(CARD),
        **{f"POST {box}/terminals/{one}": lambda _: web.json_response(AGENT) for one in asked},
    }
    return rows


@pytest.mark.parametrize("action", ["pause", "resume", "interrupt", "stop"])
def test_agent_control_takes_the_one_that_lives(
    cli: Cli, server: Scripted, agents: list[dict[str, Any]], action: str
) -> None:
    ran = cli("agent", action, "box")
    assert (ran.code, ran.out) == (0, "codex t_1 is running, waiting\n")
    seen = server.seen[-1]
    assert seen.path.endswith("/v1/sandboxes/box/terminals/t_1/agent")
    assert seen.json == {"action": action}


def test_agent_ask_waits_while_a_draft_stands_and_without_wait_says_so(
    cli: Cli,
    server: Scripted,
    agents: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_control, "ASK_AGAIN_SECONDS", 0.01)
    codes = ["draft", "draft", "agent_running"]

    def answered(_: object) -> web.Response:
        if not codes:
            return web.json_response({**AGENT, "turn": "working"})
        problem = {"code": codes.pop(0), "detail": "somebody has typed something here"}
        return web.json_response(problem, status=409)

    server.answers["POST /v1/sandboxes/box/terminals/t_1/ask"] = answered
    ran = cli("agent", "ask", "box", "And now?")
    assert (ran.code != 0, codes) == (True, ["draft", "agent_running"])
    assert "somebody has typed something" in ran.err
    ran = cli("agent", "ask", "box", "And now?", "--wait")
    assert (ran.code, ran.out, codes) == (0, "codex t_1 is running, working\n", [])


def test_agent_ask_says_no_turn_of_an_agent_nobody_watches(
    cli: Cli, server: Scripted, agents: list[dict[str, Any]]
) -> None:
    unwatched = {**AGENT, "watched": False}
    path = "POST /v1/sandboxes/box/terminals/t_1/ask"
    server.answers[path] = lambda _: web.json_response(unwatched, status=202)
    assert cli("agent", "ask", "box", "And now?").out == "codex t_1 is running\n"


def test_agent_start_says_what_was_wished(
    cli: Cli, server: Scripted, agents: list[dict[str, Any]]
) -> None:
    ran = cli("agent", "start", "box", "codex", "--machine", "--ask-first", "--prompt", "Fix it")
    assert ran.code == 0
    assert server.seen[-1].json == {
        "agent": "codex", "mode": "machine", "resume": False, "permissions": "ask",
        "prompt": "Fix it",
    }  # fmt: skip


def test_agent_that_is_not_inside_is_said_to_be_missing(
    cli: Cli, server: Scripted, agents: list[dict[str, Any]]
) -> None:
    server.answers["POST /v1/sandboxes/box/agents"] = lambda _: problem(
        400, "no_such_program", "argv: cannot run 'aider'"
    )
    ran = cli("agent", "start", "box", "aider")
    assert (ran.code, "atoll stop box" in ran.err) == (2, True)


def test_agent_of_several_has_to_be_named(
    cli: Cli, server: Scripted, agents: list[dict[str, Any]]
) -> None:
    agents[1] = {**ENDED, "agent_state": "paused"}
    ran = cli("agent", "ask", "box", "hello")
    assert ran.code != 0 and "t_1 (codex)" in ran.err
    assert cli("agent", "ask", "box", "hello", "--id", "claude").code == 0
    assert server.seen[-1].path.endswith("/terminals/g_2/ask")


def test_agent_cards_show_what_waits_and_take_an_answer(
    cli: Cli, server: Scripted, agents: list[dict[str, Any]]
) -> None:
    ran = cli("agent", "cards", "box")
    assert ran.out == "approval:0  approval  pending  Write?  [accept, decline]\n"
    assert cli("agent", "answer", "box", "approval:0", "--option", "accept").code == 0
    assert server.seen[-1].path.endswith("/cards/approval:0/answer")
    assert server.seen[-1].json == {"option": "accept"}


def test_agent_that_speaks_acp_is_added_shown_and_removed(agent: Callable[..., Any]) -> None:
    words = ("--npm", "@them/own@1.0", "--env", "A=$B", "--state", ".own", "--provider", "openai")
    added = agent("add", "acp:own", *words)
    assert added.code == 0 and added.out.startswith("added acp:own 1.0\n")
    assert "acp:own" in agent("list").out
    info = json.loads(agent("info", "acp:own", "--json").out)
    assert (info["machine"], info["package"]) == ("acp", "@them/own")
    assert "@them/own" in agent("info", "acp:own").out
    assert "atoll: acp:own was added already" in agent("add", "acp:own", "--npm", "x").err
    assert agent("rm", "acp:own", "--yes").code == 0
    gone = agent("info", "acp:own")
    assert gone.code != 0 and "no agent is called 'acp:own'" in gone.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("acp:own",), "--npm, --pip or --command"),
        (("acp:own", "--npm", "x", "--pip", "y"), "exclude each other"),
        (("own", "--npm", "x"), "write acp:NAME"),
    ],
)
def test_agent_add_says_what_is_missing(
    agent: Callable[..., Any], words: tuple[str, ...], said: str
) -> None:
    ran = agent("add", *words)
    assert ran.code != 0 and said in ran.err
