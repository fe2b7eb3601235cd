"""Secrets and approvals at the command line: values come in by stdin, and a yes needs a person."""

import io
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

KEY = "sk-canary-A1b2C3d4E5"
SECRET = {
    "name": "K",
    "kind": "custom",
    "scope": "person",
    "version": 2,
    "fingerprint": "0123456789abcdef",
    "last4": "d4E5",
    "hosts": ["api.example.com"],
    "broker_protected": True,
}
APPROVAL = {
    "approval_id": "ap_1",
    "state": "pending",
    "lines": ["Send secret K", "to https://api.example.com:443", "in sandbox \x1b[2Jbox"],
    "digest": "d" * 64,
    "times": 3,
    "asked_at": "2026-01-01T00:00:00Z",
}


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the command this standard input."""

    def give(data: bytes) -> None:
        piped = SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", piped)

    return give


def answers(server: Scripted, route: str, value: object, status: int = 200) -> None:
    server.answers[route] = lambda _seen: web.json_response(value, status=status)


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["--provider", "openai"], {"kind": "provider", "provider": "openai"}),
        (["--host", "a.example"], {"kind": "custom", "hosts": ["a.example"]}),
        (["--env", "A"], {"kind": "custom", "env": "A"}),
        (["--env", "A", "--expose"], {"kind": "env", "env": "A", "broker_protected": False}),
        (
            ["--custom", "--env", "A", "--expose"],
            {"kind": "custom", "env": "A", "broker_protected": False},
        ),
        (
            ["--git", "https://h.example/r", "--push", "refs/heads/x"],
            {"kind": "git", "remote": "https://h.example/r", "push": ["refs/heads/x"]},
        ),
        (["--header", "X-Shard", "--header", "Depth"], {"headers": ["X-Shard", "Depth"]}),
        (["--slot", "header", "--slot-name", "X-Key"], {"slot": "header", "slot_name": "X-Key"}),
        (["--scope", "sandbox:box"], {"scope": "sandbox:box"}),
    ],
)  # fmt: skip
def test_set_sends_what_was_said(
    cli: Cli, server: Scripted, stdin: Any, words: list[str], body: dict[str, object]
) -> None:
    answers(server, "PUT /v1/secrets/K", SECRET)
    stdin(f"{KEY}\n".encode())
    ran = cli("secret", "set", "K", *words)
    assert ran.code == 0
    sent = server.requests("PUT", "/v1/secrets/K")[0].json
    assert sent["value"] == KEY
    assert sent | body == sent
    assert KEY not in ran.out + ran.err


def test_set_for_two_things_is_refused(cli: Cli, server: Scripted, stdin: Any) -> None:
    stdin(KEY.encode())
    for said in (("--provider", "openai", "--custom"), ("--custom", "--at", "https://a.example")):
        assert cli("secret", "set", "K", *said).code == 2
    assert not server.seen


def test_exposed_secret_is_said_to_be(cli: Cli, server: Scripted, stdin: Any) -> None:
    answers(server, "PUT /v1/secrets/K", {**SECRET, "broker_protected": False})
    stdin(KEY.encode())
    assert "can be read by everything" in cli("secret", "set", "K", "--env", "A", "--expose").err
    answers(server, "GET /v1/secrets", {"secrets": [{**SECRET, "broker_protected": False}]})
    assert "EXPOSED" in cli("secret", "list").out
    server.add("one", exposed_secrets=["K"])
    assert "ready (exposed)" in cli("list").out
    assert "K: its value is inside" in cli("info", "one").out


@pytest.mark.parametrize("data", [b"\xff" * 20, b"x" * 70_000, b"", b"\n"])
def test_value_that_cannot_be_one_is_refused_here(
    cli: Cli, server: Scripted, stdin: Any, data: bytes
) -> None:
    stdin(data)
    assert cli("secret", "set", "K").code == 2
    assert not server.seen


def test_value_keeps_all_line_ends_but_the_last(cli: Cli, server: Scripted, stdin: Any) -> None:
    answers(server, "POST /v1/secrets/K/rotate", SECRET)
    stdin(b"one\ntwo\n\n")
    assert cli("secret", "rotate", "K", "--scope", "organization").code == 0
    sent = server.requests("POST", "/v1/secrets/K/rotate")[0]
    assert sent.json == {"value": "one\ntwo\n"}
    assert sent.query == {"scope": "organization"}


def test_rm_asks_first(cli: Cli, server: Scripted, stdin: Any) -> None:
    server.answers["DELETE /v1/secrets/K"] = lambda _seen: web.Response(status=204)
    stdin(b"")
    assert cli("secret", "rm", "K").code == 1
    assert cli("secret", "rm", "K", "--yes").code == 0
    assert len(server.seen) == 1


def test_list_of_none_says_what_to_do(cli: Cli, server: Scripted) -> None:
    answers(server, "GET /v1/secrets", {"secrets": []})
    assert "atoll secret set" in cli("secret", "list").err
    assert json.loads(cli("secret", "list", "--json").out) == {"secrets": [], "next": None}


def test_vault_says_what_it_did(cli: Cli, server: Scripted) -> None:
    done = {"key_id": "mk_1", "secrets": 3, "retired": 1}
    answers(server, "POST /v1/vault/rotate-master", done)
    assert cli("vault", "rotate-master").out == "3 secrets are under mk_1 now\n"
    assert json.loads(cli("vault", "rotate-master", "--json").out) == done


def test_approvals_show_every_line_and_no_control_character(cli: Cli, server: Scripted) -> None:
    answers(server, "GET /v1/approvals", {"approvals": [APPROVAL]})
    ran = cli("approvals")
    assert "ap_1  pending" in ran.out and "asked 3 times" in ran.out
    assert "to https://api.example.com:443" in ran.out
    assert "\x1b" not in ran.out
    assert server.seen[0].query == {"state": "pending"}
    assert cli("approvals", "--all", "--json").code == 0
    assert server.seen[1].query == {}


def test_nothing_pending_is_said(cli: Cli, server: Scripted) -> None:
    answers(server, "GET /v1/approvals", {"approvals": []})
    assert "no requests" in cli("approvals").err


def test_approve_without_a_person_asks_nothing_of_the_server(
    cli: Cli, server: Scripted, stdin: Any
) -> None:
    stdin(b"anything\n")
    ran = cli("approve", "ap_1")
    assert ran.code != 0 and "person at a terminal" in ran.err
    assert not server.seen


@pytest.mark.parametrize("verb", ["deny", "revoke"])
def test_other_answers_are_one_request(cli: Cli, server: Scripted, verb: str) -> None:
    answers(server, f"POST /v1/approvals/ap_1/{verb}", APPROVAL)
    assert cli(verb, "ap_1").code == 0
    assert json.loads(cli(verb, "ap_1", "--json").out)["approval_id"] == "ap_1"


def test_look_alike_host_is_shown_in_both_spellings_and_asked_about(
    cli: Cli, server: Scripted, stdin: Any
) -> None:
    answers(server, "PUT /v1/secrets/K", SECRET)
    words = ("secret", "set", "K", "--host", "\u0430pi.openai.com")
    stdin(KEY.encode())
    ran = cli(*words)
    assert ran.code == 1 and not server.seen
    assert "\u0430pi.openai.com" in ran.err and "xn--pi-6kc.openai.com" in ran.err
    stdin(KEY.encode())
    assert cli(*words, "--yes").code == 0
    (sent,) = server.requests("PUT", "/v1/secrets/K")
    assert sent.json["look_alike"] is True
