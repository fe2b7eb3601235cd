"""Commands on projects, and what `list`, `info` and `open` say of them."""

from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, sandbox


def project(state: str, **fields: Any) -> dict[str, Any]:
    return {"state": state, "reason": None, "ports": [], **fields}


@pytest.mark.parametrize(
    ("state", "said"),
    [("failed", "ready (set-up failed)"), ("running", "ready (set-up runs)"), ("done", "ready")],
)
def test_list_and_info_say_how_the_setup_went(
    cli: Cli, server: Scripted, state: str, said: str
) -> None:
    server.add("one", project=project(state, reason="A command ended.\x1b[2J", ports=[3000]))
    heading, row = cli("list").out.splitlines()
    assert row[heading.index("STATE") :].startswith(said + "  ")
    shown = cli("info", "one").out
    assert f"{state}: A command ended.\\x1b[2J" in shown and "3000" in shown


def test_list_says_that_a_task_waits_for_its_setup(cli: Cli, server: Scripted) -> None:
    server.add("one", project=project("running"), task={"state": "waiting"})
    server.add("two", project=project("failed"), task={"state": "waiting"})
    shown = cli("list").out
    assert "waits for the set-up" in shown and "needs you: the set-up failed" in shown


def test_begin_starts_a_waiting_task(cli: Cli, server: Scripted) -> None:
    server.answers["POST /v1/sandboxes/one/task/begin"] = lambda _seen: web.json_response(
        sandbox("one", agent="codex", task={"state": state, "reason": "no program"})
    )
    state = "given"
    assert "codex is at work" in cli("agent", "begin", "one").out
    assert cli("agent", "begin", "one", "--json").code == 0
    state = "failed"
    ran = cli("agent", "begin", "one")
    assert ran.code == 1 and "no program" in ran.err


def test_open_without_a_port_needs_a_project_that_names_some(cli: Cli, server: Scripted) -> None:
    server.add("one")
    ran = cli("open", "one")
    assert ran.code == 2 and "name a file or a port" in ran.err
    server.add("two", project=project("none", ports=[3000, 3001]))
    assert "--port is for one port" in cli("open", "two", "--port", "4000").err


def test_approve_needs_a_terminal(cli: Cli) -> None:
    ran = cli("project", "approve", "o/r")
    assert ran.code == 6 and "a person at a terminal" in ran.err
