"""`atoll sync`: it waits for an agent at work, and opens a terminal at a conflict."""

from typing import Any
from unittest.mock import patch

import pytest
from aiohttp import web

from atoll.surfaces.cli.commands.library import sync
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, Seen, problem

ROUTE = "/v1/sandboxes/sb_box/sync"
DONE: dict[str, Any] = {
    "outcome": "updated", "onto": "main", "commit": "a" * 40, "commits": 1, "files": [],
    "more": 0, "stashed": False, "agent": None,
}  # fmt: skip


@pytest.fixture
def box(server: Scripted) -> dict[str, Any]:
    repo = {"repo_url": "https://h.example/o/r", "branch": "fix", "path": "/workspace/r"}
    return server.add("box", repos=[repo])


def test_sync_waits_for_the_turn_of_an_agent(
    cli: Cli, server: Scripted, box: dict[str, Any]
) -> None:
    turns = [problem(409, "agent_works", "codex is at work in box: wait.") for _ in range(2)]

    def answer(_seen: Seen) -> web.StreamResponse:
        return turns.pop() if turns else web.json_response(DONE)

    server.answers[f"POST {ROUTE}"] = answer
    with patch.object(sync, "BETWEEN_LOOKS", 0.0):
        ran = cli("sync", "box")
    assert (ran.code, ran.err.count("codex is at work")) == (0, 1)
    assert "is at aaaaaaaaaaaa" in ran.out
    assert len(server.requests("POST", ROUTE)) == 3


def test_sync_now_does_not_wait(cli: Cli, server: Scripted, box: dict[str, Any]) -> None:
    server.answers[f"POST {ROUTE}"] = lambda _seen: web.json_response(DONE)
    assert cli("sync", "box", "--now").code == 0
    assert server.requests("POST", ROUTE)[0].json["now"] is True


def test_terminal_opens_where_the_conflict_is(
    cli: Cli, server: Scripted, box: dict[str, Any]
) -> None:
    stopped = DONE | {"outcome": "conflict", "files": ["a"]}
    server.answers[f"POST {ROUTE}"] = lambda _seen: web.json_response(stopped)
    asked: list[Any] = []

    def opened(_invocation: object, _name: str, request: Any) -> int:
        asked.append(request)
        return 7

    with patch("atoll.surfaces.cli.commands.terminals.exec.at_terminal", opened):
        ran = cli("sync", "box", "--terminal")
    assert ran.code == 7
    assert asked[0]["cwd"] == "/workspace/r" and asked[0]["shell"].startswith("git status; exec")


def test_rebase_without_a_file_in_conflict_says_how_it_ends(
    cli: Cli, server: Scripted, box: dict[str, Any]
) -> None:
    stopped = DONE | {"outcome": "conflict", "files": []}
    server.answers[f"POST {ROUTE}"] = lambda _seen: web.json_response(stopped)
    ran = cli("sync", "box")
    assert ran.code == 1 and "no file is in conflict any more" in ran.err


@pytest.mark.parametrize("words", [("--terminal", "--agent"), ("--abort", "--terminal")])
def test_words_that_do_not_go_together_are_refused(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli("sync", "box", *words).code == 2
