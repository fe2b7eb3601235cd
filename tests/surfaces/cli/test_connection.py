"""Which server a command asks, with what token, and what it makes of a refusal or of silence."""

import json
from pathlib import Path

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, problem


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "unauthenticated", 6),
        (403, "forbidden", 6),
        (404, "not_found", 3),
        (409, "conflict", 4),
        (413, "too_large", 4),
        (422, "invalid", 2),
        (429, "limit_reached", 4),
        (502, "failed", 1),
        (503, "unavailable", 5),
    ],
)
def test_problem_document_becomes_one_line_and_its_exit_code(
    cli: Cli, server: Scripted, status: int, code: str, expected: int
) -> None:
    said = "sb_x does \x1b[2J not: try again"
    server.answers["GET /v1/sandboxes"] = lambda _: problem(status, code, said)
    ran = cli("list")
    assert (ran.code, ran.out) == (expected, "")
    assert ran.err == "atoll: sb_x does \\x1b[2J not: try again\n"


def test_problem_with_a_field_names_it(cli: Cli, server: Scripted) -> None:
    server.answers["POST /v1/sandboxes"] = lambda _: problem(
        422, "invalid", "is taken", field="name"
    )
    assert "atoll: name: is taken" in cli("new", "--detach").err


def test_answer_that_is_not_ours_is_an_error_not_a_traceback(cli: Cli, server: Scripted) -> None:
    server.answers["GET /v1/sandboxes"] = lambda _: web.Response(text="<html>")
    ran = cli("list")
    assert ran.code == 1
    assert "is this an Atoll server?" in ran.err
    server.answers["GET /v1/sandboxes"] = lambda _: web.json_response({"sandboxes": [{"state": 7}]})
    assert "of different versions" in cli("list").err


def test_nothing_running_says_how_to_start(cli: Cli, environ: dict[str, str]) -> None:
    del environ["ATOLL_URL"]
    ran = cli("list")
    assert (ran.code, ran.err) == (5, "atoll: Atoll is not running: start it with `atoll up`\n")
    environ["ATOLL_URL"] = "http://127.0.0.1:1"
    assert cli("list").code == 5


def test_token_of_the_home_goes_only_to_its_own_server(
    cli: Cli, server: Scripted, environ: dict[str, str], tmp_path: Path
) -> None:
    del environ["ATOLL_TOKEN"]
    (tmp_path / "run").mkdir()
    control = tmp_path / "run" / "control.json"
    control.write_text(json.dumps({"url": "http://127.0.0.1:9", "pid": 1}))
    token = tmp_path / "token"
    token.write_text("t0ken-of-the-tests\n")
    token.chmod(0o600)
    ran = cli("list")
    assert ran.code == 6
    assert server.seen == []
    control.write_text(json.dumps({"url": server.url, "pid": 1}))
    assert cli("list").code == 0
    del environ["ATOLL_URL"]
    assert cli("list").code == 0
    token.chmod(0o644)
    assert cli("list").code == 6


def test_plain_http_to_another_machine_is_refused(cli: Cli, environ: dict[str, str]) -> None:
    environ["ATOLL_URL"] = "http://example.org"
    ran = cli("list")
    assert ran.code == 6
    assert "https" in ran.err


def test_wait_up_returns_once_it_answers(
    cli: Cli, server: Scripted, environ: dict[str, str]
) -> None:
    server.answers["GET /readyz"] = lambda _: web.json_response({})
    assert cli("wait-up").out == f"{server.url}\n"
    environ["ATOLL_URL"] = "http://127.0.0.1:1"
    assert cli("wait-up", "--timeout", "1s").code == 124
