"""Commands on projects, and what `list`, `info` and `open` say of them."""

from typing import Any

import pytest

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted


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


def test_open_without_a_port_needs_a_project_that_names_some(cli: Cli, server: Scripted) -> None:
    server.add("one")
    ran = cli("open", "one")
    assert ran.code == 2 and "name a file or a port" in ran.err
    server.add("two", project=project("none", ports=[3000, 3001]))
    assert "--port is for one port" in cli("open", "two", "--port", "4000").err


def test_approve_needs_a_terminal(cli: Cli) -> None:
    ran = cli("project", "approve", "o/r")
    assert ran.code == 6 and "a person at a terminal" in ran.err
