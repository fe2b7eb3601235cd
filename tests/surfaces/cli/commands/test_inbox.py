"""`atoll inbox`: listed, and answered."""

from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

SHOWN = "a" * 64


def item(**changed: Any) -> dict[str, Any]:
    told = {
        "id": "q_1234",
        "kind": "agent",
        "sandbox_id": "sb_one",
        "sandbox_name": "one",
        "agent": "codex",
        "agent_id": "g_1",
        "since": "2999-01-01T00:00:00Z",
        "lines": ["Allow Bash?", "npm publish\x1b[2J"],
        "options": [
            {"id": "allow", "label": "Yes, run it", "effect": "allow"},
            {"id": "no", "label": "No", "effect": "deny"},
        ],
        "words": False,
        "by": "protocol",
        "shown": SHOWN,
        "times": 1,
    }
    return {**told, **changed}


def holding(server: Scripted, *items: dict[str, Any]) -> None:
    server.answers["GET /v1/inbox"] = lambda _: web.json_response({"items": [*items]})
    for one in items:
        path = f"POST /v1/inbox/{one['id']}/answer"
        server.answers[path] = lambda _: web.Response(status=204)


def test_inbox_lists_what_waits_without_control_characters(cli: Cli, server: Scripted) -> None:
    holding(server, item(), item(id="q_5", by="terminal", options=[]))
    for words in (("inbox",), ("inbox", "list")):
        lines = cli(*words).out.splitlines()
        assert lines[:4] == [
            "q_1234  agent, codex in one, 0s ago",
            "  Allow Bash?",
            "  npm publish\\x1b[2J",
            "  -> allow, no",
        ]
        assert lines[-1] == "  -> atoll attach one"


def test_empty_inbox_says_so_and_json_is_passed_on(cli: Cli, server: Scripted) -> None:
    holding(server)
    assert "nothing waits" in cli("inbox").err
    assert cli("inbox", "--json").out == '{"items": [], "next": null}\n'


@pytest.mark.parametrize(
    ("answer", "words", "body"),
    [
        ("yes", False, {"option": "allow"}),
        ("No", False, {"option": "no"}),
        ("Yes, run it", False, {"option": "allow"}),
        ("use the other branch", True, {"text": "use the other branch"}),
    ],
)
def test_answer_is_sent_with_what_was_shown(
    cli: Cli, server: Scripted, answer: str, *, words: bool, body: dict[str, str]
) -> None:
    holding(server, item(words=words))
    assert cli("inbox", "answer", "q_12", answer).code == 0
    (sent,) = server.requests("POST", "/v1/inbox/q_1234/answer")
    assert sent.json == {"shown": SHOWN, **body}


@pytest.mark.parametrize(
    ("items", "words", "said"),
    [
        ([item()], ("q_9", "yes"), "nothing waits"),
        ([item(), item(id="q_1299")], ("q_12", "yes"), "2 ids"),
        ([item()], ("q_1", "perhaps"), "takes one of: allow, no"),
        ([item(by="terminal", options=[])], ("q_1", "yes"), "atoll attach one"),
        ([item(id="ap_1", by="person")], ("ap_1", "yes"), "at a terminal"),
    ],
)
def test_answer_that_cannot_be_given_says_why(
    cli: Cli, server: Scripted, items: list[Any], words: tuple[str, str], said: str
) -> None:
    holding(server, *items)
    ran = cli("inbox", "answer", *words)
    assert ran.code != 0
    assert said in ran.err
    assert not [one for one in server.seen if one.method == "POST"]


def test_login_that_broke_says_how_to_log_in_again(cli: Cli, server: Scripted) -> None:
    broken = item(
        id="alg_1", kind="login", sandbox_id=None, sandbox_name=None, agent="codex", by="person",
        options=[], lines=["codex needs a new login"],
    )  # fmt: skip
    holding(server, broken)
    assert cli("inbox").out.splitlines() == [
        "alg_1  login, codex, 0s ago",
        "  codex needs a new login",
        "  -> atoll agent login codex --use, or atoll inbox dismiss alg_1",
    ]


def test_mention_is_listed_with_its_dashboard_and_dismissed(cli: Cli, server: Scripted) -> None:
    place = {"dashboard_id": "dsh_1", "dashboard_name": "Plan", "item_id": "itm_1"}
    mention = item(
        id="mnt_1", kind="mention", sandbox_id=None, sandbox_name=None, agent=None, by="person",
        options=[], place=place, author="Ann\x1b[2J", lines=["Look, @bob"],
    )  # fmt: skip
    holding(server, mention, item())
    lines = cli("inbox").out.splitlines()
    assert lines[:3] == [
        "mnt_1  mention, Ann\\x1b[2J on Plan, 0s ago",
        "  Look, @bob",
        "  -> atoll dashboard open dsh_1, or atoll inbox dismiss mnt_1",
    ]
    server.answers["DELETE /v1/inbox/mnt_1"] = lambda _: web.Response(status=204)
    assert cli("inbox", "dismiss", "mnt").out == "dismissed mnt_1\n"
    for words in (("answer", "mnt", "yes"), ("dismiss", "q_1")):
        refused = cli("inbox", *words)
        assert refused.code != 0 and "atoll inbox" in refused.err


def test_item_is_named_by_its_id_as_its_sandbox_may_ask_something_else_by_now(
    cli: Cli, server: Scripted
) -> None:
    holding(server, item())
    refused = cli("inbox", "answer", "one", "yes")
    assert refused.code == 2
    assert "what waits in one is q_1234: name that" in refused.err
    assert server.requests("POST", "/v1/inbox/q_1234/answer") == []
