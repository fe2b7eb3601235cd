"""`atoll new` with a prompt: one sandbox for each agent, at work when the command returns."""

import io
import json
from typing import Any

import pytest

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted


def creates(server: Scripted) -> list[dict[str, Any]]:
    made = [one for one in server.seen if (one.method, one.path) == ("POST", "/v1/sandboxes")]
    return [one.json for one in made]


def test_prompt_goes_with_the_create_and_names_no_branch_itself(cli: Cli, server: Scripted) -> None:
    ran = cli("new", "o/r", "--agent", "codex", "--prompt", "Fix the login page", "-d")
    assert ran.code == 0, ran.err
    (body,) = creates(server)
    assert (body["agent"], body["prompt"]) == ("codex", "Fix the login page")
    assert "task" not in body and "branch" not in body["repos"][0]


def test_several_agents_get_a_branch_each_and_one_group(cli: Cli, server: Scripted) -> None:
    words = ("--agent", "codex", "--agent", "claude-code", "--prompt", "Fix the login page")
    ran = cli("new", "o/r", *words, "--json")
    assert ran.code == 0, ran.err
    first, second = creates(server)
    assert [one["repos"][0]["branch"] for one in (first, second)] == [
        "fix-login-page-codex",
        "fix-login-page-claude-code",
    ]
    assert first["task"] == second["task"] and first["task"]["group"].startswith("tg_")
    assert len(json.loads(ran.out)["sandboxes"]) == 2


def test_prompt_is_read_from_the_standard_input(
    cli: Cli, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("Räum auf\n".encode())))
    assert cli("new", "--agent", "codex", "--prompt", "-", "-d").code == 0
    assert creates(server)[0]["prompt"] == "Räum auf\n"


@pytest.mark.parametrize(
    "words",
    [
        ("--agent", "codex", "--agent", "aider"),
        ("--agent", "codex", "--agent", "codex", "--prompt", "x"),
        ("--agent", "codex", "--prompt", "  "),
        ("--agent", "codex", "--prompt", "x" * 70000),
    ],
)
def test_wrong_prompt_makes_nothing(cli: Cli, server: Scripted, words: tuple[str, ...]) -> None:
    assert cli("new", *words, "-d").code == 2
    assert creates(server) == []
