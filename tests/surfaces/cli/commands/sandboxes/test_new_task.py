"""`atoll new` with a prompt: one sandbox for each agent, at work when the command returns."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from atoll.surfaces.cli.console.output import cut_middle
from atoll.surfaces.cli.overview.listing import shown_names
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, Seen, sandbox


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
    # The server names their branches.
    assert not any("branch" in one["repos"][0] for one in (first, second))
    assert [one["consumer"]["session_id"].rpartition("@")[2] for one in (first, second)] == [
        "fix-login-page-codex",
        "fix-login-page-claude-code",
    ]
    assert first["task"] == second["task"] and first["task"]["group"].startswith("tg_")
    assert len(json.loads(ran.out)["sandboxes"]) == 2


@pytest.mark.parametrize(
    ("words", "task"),
    [
        (("--machine",), {"mode": "machine", "permissions": "allow"}),
        (("--machine", "--ask-first"), {"mode": "machine", "permissions": "ask"}),
    ],
)
def test_agent_that_works_by_cards_is_said_with_the_create_and_not_attached(
    cli: Cli, server: Scripted, words: tuple[str, ...], task: dict[str, str]
) -> None:
    ran = cli("new", "--agent", "codex", "--prompt", "Fix it", *words, "--save-as", "cards")
    assert (ran.code, ran.out) == (0, "made\n"), ran.err
    again = cli("new", "--prompt", "More", "--preset", "cards")
    assert again.code == 0, again.err
    assert [one["task"] for one in creates(server)] == [task, task]


def test_agent_at_a_terminal_is_told_to_ask_first(cli: Cli, server: Scripted) -> None:
    ran = cli("new", "--agent", "gemini-cli", "--prompt", "Fix it", "--ask-first", "-d")
    assert ran.code == 0, ran.err
    assert [one["task"] for one in creates(server)] == [{"permissions": "ask"}]


def test_limits_of_agents_and_secrets_are_said_with_the_create(cli: Cli, server: Scripted) -> None:
    words = ("--may-run", "codex", "--may-run", "aider", "--softlock", "strict", "--secret", "npm")
    assert cli("new", *words, "-d").code == 0
    (body,) = creates(server)
    assert (body["agent_catalogue"], body["softlock"]) == (["codex", "aider"], "strict")
    assert body["setup_metadata"] == {"secret_refs": ["npm"]}


def test_webhook_is_said_with_the_create_and_kept_by_no_preset(cli: Cli, server: Scripted) -> None:
    url = "https://hooks.example/in"
    ran = cli("new", "--webhook", url, "SIGNING", "--save-as", "hooked", "-d")
    assert ran.code == 0, ran.err
    assert cli("new", "--preset", "hooked", "-d").code == 0
    agents = ("--agent", "codex", "--agent", "claude-code", "--prompt", "Fix it", "--no-wait")
    assert cli("new", *agents, "--webhook", url, "SIGNING").code == 0
    first, second, *others = creates(server)
    hook = {"url": url, "secret_ref": "SIGNING"}
    assert first["lifecycle_webhook"] == hook and "lifecycle_webhook" not in second
    assert [one["lifecycle_webhook"] for one in others] == [hook, hook]
    assert cli("new", "--webhook", url, "-d").code == 2


def test_list_shows_those_that_got_the_same_task(cli: Cli, server: Scripted) -> None:
    for name, group in (("one", "g"), ("two", "g"), ("three", None)):
        server.add(name, task={"state": "given", "group": group})
    shown = cli("list", "--task", "one").out
    assert "two" in shown and "three" not in shown
    assert "alone" in cli("list", "--task", "three").err


@pytest.mark.parametrize("more", [("-d",), ()])
def test_prompt_is_read_from_the_standard_input_and_a_pipe_is_not_attached(
    cli: Cli, server: Scripted, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("Räum auf\n".encode())))
    ran = cli("new", "--agent", "codex", "--prompt", "-", *more)
    assert (ran.code, ran.out) == (0, "made\n")
    assert creates(server)[0]["prompt"] == "Räum auf\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--agent", "codex"), "Räum auf\n".encode()),
        (("--agent", "codex", "--agent", "aider"), b"Tidy up"),
        (("--agent", "codex", "--preset", "none"), b"Tidy up"),
        (("--agent", "codex", "--ask-first"), b"Tidy up"),
        (("--agent", "codex"), b"x" * 70000),
        (("--agent", "codex"), b"\xff\xfe no text"),
    ],
)
def test_prompt_of_the_standard_input_is_kept_where_no_sandbox_comes_of_it(
    cli: Cli,
    server: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    words: tuple[str, ...],
    text: bytes,
) -> None:
    def refused(_seen: Seen) -> web.StreamResponse:
        body = {"code": "limit_reached", "detail": "ten sandboxes are there"}
        return web.json_response(body, status=429, content_type="application/problem+json")

    server.answers["POST /v1/sandboxes"] = refused
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    ran = cli("new", *words, "--prompt", "-", "-d")
    assert ran.code != 0
    (kept,) = tmp_path.glob("prompts/*")
    assert f"--prompt - < {kept}`" in ran.err
    assert kept.read_bytes() == text and kept.stat().st_mode & 0o777 == 0o600


def test_prompt_that_cannot_be_kept_is_printed(
    cli: Cli, server: Scripted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "prompts").write_text("in the way")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Tidy up")))
    ran = cli("new", "--agent", "codex", "--preset", "none", "--prompt", "-", "-d")
    assert ran.code != 0 and "Tidy up" in ran.err


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (("running", "done"), ""),
        (("running", "failed"), "its task waits. Exit 2."),
    ],
)
def test_command_returns_once_the_setup_let_the_task_begin(
    cli: Cli,
    server: Scripted,
    monkeypatch: pytest.MonkeyPatch,
    states: tuple[str, ...],
    said: str,
) -> None:
    left = list(states)
    monkeypatch.setattr("atoll.surfaces.cli.console.waiting.STEP_SECONDS", 0)

    def shown(_seen: Seen) -> web.StreamResponse:
        state = left.pop(0) if len(left) > 1 else left[0]
        task = {"state": "given" if state == "done" else "waiting"}
        project = {"state": state, "reason": "Exit 2.", "ports": []}
        return web.json_response(sandbox("one", project=project, task=task))

    server.answers["POST /v1/sandboxes"] = server.answers["GET /v1/sandboxes/sb_one"] = shown
    ran = cli("new", "o/r", "--agent", "codex", "--prompt", "Fix it", "-d")
    assert ran.code == 0 and left == [states[-1]]
    assert said in ran.err and ("atoll agent begin one" in ran.err) is bool(said)


@pytest.mark.parametrize(
    "words",
    [
        ("--agent", "codex", "--agent", "aider"),
        ("--agent", "codex", "--agent", "codex", "--prompt", "x"),
        ("--agent", "codex", "--prompt", "  "),
        ("--agent", "codex", "--prompt", "x" * 70000),
        ("--agent", "codex", "--machine"),
        ("--agent", "codex", "--ask-first"),
    ],
)
def test_wrong_prompt_makes_nothing(cli: Cli, server: Scripted, words: tuple[str, ...]) -> None:
    assert cli("new", *words, "-d").code == 2
    assert creates(server) == []


def answers(value: dict[str, Any]) -> Callable[[Seen], web.StreamResponse]:
    return lambda _seen: web.json_response(value)


class Shelf:
    """Agents of an installation, of which some lack something."""

    def __init__(self, **lacks: str) -> None:
        self.lacks = lacks
        self.installs: list[str] = []

    def entry(self, name: str) -> dict[str, Any]:
        state = self.lacks.get(name.replace("-", "_"), "works")
        idle = {"bytes": 5, "expected": 10, "failed": None}
        return {
            "name": name,
            "aliases": [],
            "state": state,
            "reason": None,
            "mend": f"atoll agent install {name}",
            "providers": ["openai"],
            "about_mib": 403,
            "installable": True,
            "install": idle if state == "not_installed" else None,
        }

    def list(self, server: Scripted) -> None:
        entries = [self.entry(name) for name in ("codex", "claude-code")]
        server.answers["GET /v1/agent-catalogue"] = answers({"agents": entries})


def test_missing_key_is_said_where_nobody_can_be_asked(cli: Cli, server: Scripted) -> None:
    Shelf(codex="key_missing").list(server)
    ran = cli("new", "--agent", "codex", "--prompt", "Go.", "-d")
    assert ran.code == 0 and "codex has no key of openai" in ran.err


def test_missing_key_is_asked_for_at_a_terminal(
    cli: Cli, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    Shelf(codex="key_missing").list(server)
    server.answers["PUT /v1/secrets/openai"] = answers({"name": "openai"})
    monkeypatch.setattr("atoll.surfaces.cli.create.agents.can_ask", lambda: True)
    monkeypatch.setattr("click.prompt", lambda *_, **__: " sk-secret ")
    ran = cli("new", "--agent", "codex", "--prompt", "Go.", "-d")
    assert ran.code == 0, ran.err
    (put,) = [one.json for one in server.seen if one.method == "PUT"]
    assert put == {"value": "sk-secret", "kind": "provider", "provider": "openai"}
    assert "sk-secret" not in ran.out + ran.err


def test_missing_agent_is_installed_after_a_yes(
    cli: Cli, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(codex="not_installed")
    shelf.list(server)
    begun = {"bytes": 0, "expected": 0, "failed": None}
    server.answers["POST /v1/agent-catalogue/codex/install"] = answers(begun)

    def arrives(_seconds: float) -> None:
        shelf.lacks.clear()
        shelf.list(server)

    monkeypatch.setattr("atoll.surfaces.cli.create.agents.can_ask", lambda: True)
    monkeypatch.setattr("atoll.surfaces.cli.create.agents.time.sleep", arrives)
    monkeypatch.setattr("click.confirm", lambda *_, **__: True)
    ran = cli("new", "--agent", "codex", "--prompt", "Go.", "-d")
    assert ran.code == 0, ran.err
    assert any(one.path.endswith("/codex/install") for one in server.seen)
    assert len(creates(server)) == 1


@pytest.mark.parametrize(
    ("name", "most", "shown"),
    [("short", 32, "short"), ("a" * 10 + "z" * 10, 9, "aaaa…zzzz"), ("abcdef", 4, "ab…f")],
)
def test_long_name_is_cut_in_its_middle(name: str, most: int, shown: str) -> None:
    assert cut_middle(name, most) == shown


def test_long_names_that_would_look_alike_are_shown_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    alike = [f"{'a' * 20}{number}{'z' * 20}" for number in (1, 2)]
    assert shown_names([*alike, "b" * 50, "app"]) == [*alike, cut_middle("b" * 50, 36), "app"]


ISSUE: dict[str, Any] = {
    "kind": "issue", "url": "https://forge.example/o/r/issues/12", "number": 12,
    "title": "Fix \x1b[2J it", "state": "open", "repo_url": "https://forge.example/o/r",
    "branch": "fix-12", "prompt": "Fix it\n\nThis is issue 12.",
}  # fmt: skip


def test_issue_is_repository_branch_and_task(cli: Cli, server: Scripted) -> None:
    server.answers["GET /v1/forges/issues"] = lambda _seen: web.json_response(ISSUE)
    ran = cli("new", "--issue", f"{ISSUE['url']}#x", "--agent", "codex", "-d")
    assert ran.code == 0, ran.err
    assert "issue 12" in ran.err and "\x1b" not in ran.err
    (read,) = server.requests("GET", "/v1/forges/issues")
    assert read.query["address"] == f"{ISSUE['url']}#x"
    (body,) = creates(server)
    assert body["prompt"] == ISSUE["prompt"] and body["task"] == {"issue": ISSUE["url"]}
    assert body["repos"] == [{"repo_url": ISSUE["repo_url"], "branch": "fix-12"}]


def test_what_is_said_goes_before_an_issue_and_each_agent_has_a_branch(
    cli: Cli, server: Scripted
) -> None:
    server.answers["GET /v1/forges/issues"] = lambda _seen: web.json_response(ISSUE)
    server.answers["POST /v1/repositories/fetch"] = lambda _seen: web.json_response({"refs": []})
    words = (
        "--issue",
        ISSUE["url"],
        "--agent",
        "codex",
        "--agent",
        "pi",
        "--prompt",
        "Tests only.",
    )
    ran = cli("new", "o/mine", "mend", *words, "-d")
    assert ran.code == 0, ran.err
    first, second = creates(server)
    assert first["prompt"] == f"Tests only.\n\n{ISSUE['prompt']}"
    assert {one["repos"][0]["branch"] for one in (first, second)} == {"mend-codex", "mend-pi"}
    assert first["repos"][0]["repo_url"] == "https://github.com/o/mine"
    assert first["task"]["issue"] == second["task"]["issue"] == ISSUE["url"]


def test_issue_without_a_token_makes_nothing(cli: Cli, server: Scripted) -> None:
    problem = {"title": "x", "status": 404, "code": "no_forge", "detail": "Set one first."}
    server.answers["GET /v1/forges/issues"] = lambda _seen: web.json_response(problem, status=404)
    ran = cli("new", "--issue", ISSUE["url"], "--agent", "codex", "-d")
    assert ran.code != 0 and "Set one first" in ran.err and creates(server) == []
