"""Webhooks at the command line: the secret is printed once, and every failure says why."""

from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

WEBHOOK: dict[str, Any] = {
    "webhook_id": "whk_1",
    "scope": "own",
    "sandbox_id": None,
    "url": "https://hooks.example/in",
    "event_types": ["sandbox.*"],
    "streams": [],
    "enabled": True,
    "reason": None,
    "cursor": 41,
    "secret_version": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "delivered_at": "2026-01-01T00:00:00Z",
    "failing_since": None,
    "failure": "hooks.example answered 500.",
    "failed_at": "2026-01-01T00:00:00Z",
    "retrying": 1,
    "replaying": 0,
    "dead": 2,
}
MADE = {**WEBHOOK, "secret": "whsec_c2VjcmV0"}
DELIVERY = {
    "event_id": "ev_1",
    "event_type": "sandbox.ready",
    "stream": "sandbox:sb_1",
    "position": 40,
    "state": "dead",
    "attempts": 10,
    "next_at": None,
    "reason": "hooks.example \x1b[2Janswered 500.",
    "failed_at": "2026-01-01T00:00:00Z",
}


def answers(server: Scripted, route: str, value: object, status: int = 200) -> None:
    server.answers[route] = lambda _seen: web.json_response(value, status=status)


def test_add_prints_the_secret_once_and_alone_on_stdout(server: Scripted, cli: Cli) -> None:
    answers(server, "POST /v1/webhooks", MADE, 201)
    ran = cli("webhook", "add", WEBHOOK["url"], "--event", "sandbox.*", "--stream", "vault")
    assert (ran.code, ran.out) == (0, "whsec_c2VjcmV0\n")
    assert "not shown again" in ran.err and "atoll webhook test whk_1" in ran.err
    assert server.seen[-1].json == {
        "url": WEBHOOK["url"],
        "event_types": ["sandbox.*"],
        "streams": ["vault"],
    }


def test_webhook_of_the_organization_is_asked_for_and_shown(server: Scripted, cli: Cli) -> None:
    scope = {"scope": "organization"}
    answers(server, "POST /v1/webhooks", MADE | scope, 201)
    answers(server, "GET /v1/webhooks/whk_1", WEBHOOK | scope)
    assert cli("webhook", "add", WEBHOOK["url"], "--organization").code == 0
    assert server.seen[-1].json["scope"] == "organization"
    assert "of:           the organization" in cli("webhook", "show", "whk_1").out


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({}, "on"),
        ({"failing_since": "2026-01-01T00:00:00Z"}, "failing"),
        ({"enabled": False}, "off"),
        ({"enabled": False, "reason": "it is gone"}, "disabled"),
    ],
)
def test_list_and_show_say_how_a_webhook_is(
    server: Scripted, cli: Cli, change: dict[str, Any], state: str
) -> None:
    answers(server, "GET /v1/webhooks", {"webhooks": [{**WEBHOOK, **change}]})
    answers(server, "GET /v1/webhooks/whk_1", {**WEBHOOK, **change})
    assert f" {state} " in cli("webhook", "list").out
    shown = cli("webhook", "show", "whk_1").out
    assert state in shown and "hooks.example answered 500." in shown
    assert str(change.get("reason", "sandbox.*")) in shown


def test_list_of_none_says_how_to_make_one(server: Scripted, cli: Cli) -> None:
    answers(server, "GET /v1/webhooks", {"webhooks": []})
    assert "atoll webhook add URL" in cli("webhook", "list").err


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["--off"], {"url": None, "enabled": False}),
        (["--on", "--url", "https://b.example/"], {"url": "https://b.example/", "enabled": True}),
        (["--event", "agent.*"], {"url": None, "enabled": None, "event_types": ["agent.*"]}),
        (["--all"], {"url": None, "enabled": None, "event_types": [], "streams": []}),
    ],
)
def test_change_sends_what_was_said(
    server: Scripted, cli: Cli, words: list[str], body: dict[str, Any]
) -> None:
    answers(server, "PATCH /v1/webhooks/whk_1", WEBHOOK)
    assert cli("webhook", "change", "whk_1", *words).code == 0
    assert server.seen[-1].json == body


def test_failed_test_says_why_and_ends_with_an_error(server: Scripted, cli: Cli) -> None:
    route = "POST /v1/webhooks/whk_1/test"
    answers(server, route, {"event_id": "ev_1", "accepted": True, "reason": None})
    assert cli("webhook", "test", "whk_1").out == "accepted ev_1\n"
    answers(server, route, {"event_id": "ev_1", "accepted": False, "reason": "h answered 404."})
    for words in ((), ("--json",)):
        ran = cli("webhook", "test", "whk_1", *words)
        assert (ran.code, "h answered 404." in ran.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "body"),
    [([], {}), (["--overlap", "2h"], {"overlap": "2h"}), (["--overlap", "0"], {"overlap": 0})],
)
def test_rotate_prints_the_new_secret(
    server: Scripted, cli: Cli, words: list[str], body: dict[str, Any]
) -> None:
    answers(server, "POST /v1/webhooks/whk_1/rotate", MADE)
    assert cli("webhook", "rotate", "whk_1", *words).out == "whsec_c2VjcmV0\n"
    assert server.seen[-1].json == body
    assert cli("webhook", "rotate", "whk_1", "--overlap", "soon").code == 2


def test_failed_lists_reasons_without_control_characters(server: Scripted, cli: Cli) -> None:
    retrying = {**DELIVERY, "state": "retrying", "next_at": "2026-01-01T00:00:00Z"}
    page = {"deliveries": [DELIVERY, retrying], "next": 40}
    answers(server, "GET /v1/webhooks/whk_1/deliveries", page)
    ran = cli("webhook", "failed", "whk_1", "--dead")
    assert "dead" in ran.out and "answered 500." in ran.out and "\x1b[2J" not in ran.out
    assert server.seen[-1].query == {"limit": "1000", "state": "dead"}
    answers(server, "GET /v1/webhooks/whk_1/deliveries", {"deliveries": [], "next": 0})
    assert "accepted everything" in cli("webhook", "failed", "whk_1").err


def test_drop_and_remove_ask_first(server: Scripted, cli: Cli) -> None:
    for route in ("DELETE /v1/webhooks/whk_1", "DELETE /v1/webhooks/whk_1/deliveries"):
        server.answers[route] = lambda _seen: web.Response(status=204)
    for words in (("remove", "whk_1"), ("failed", "whk_1", "--drop")):
        before = len(server.seen)
        assert cli("webhook", *words).code != 0
        assert len(server.seen) == before
        assert cli("webhook", *words, "--yes").code == 0
        assert server.seen[-1].method == "DELETE"


@pytest.mark.parametrize(
    ("words", "body", "said"),
    [
        ([], {"event_id": None, "after": None}, "3 dead letters are sent again"),
        (["--event", "ev_1"], {"event_id": "ev_1", "after": None}, "sent again"),
        (["--after", "0"], {"event_id": None, "after": 0}, "everything after position 0"),
    ],
)
def test_replay_sends_dead_letters_or_everything_after_a_position(
    server: Scripted, cli: Cli, words: list[str], body: dict[str, Any], said: str
) -> None:
    answers(server, "POST /v1/webhooks/whk_1/replay", {"deliveries": 3, "after": None, "gap": None})
    assert said in cli("webhook", "replay", "whk_1", *words).out
    assert server.seen[-1].json == body
