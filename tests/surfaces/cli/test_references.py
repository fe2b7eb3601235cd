"""What a person may write for a thing: its id, the beginning of it, or its name, in each command
that takes one; and what a command does with several, of which one is wrong."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

FIRST, SECOND = "aaaabbbbccccdddd", "bbbbccccddddeeee"


def answers(server: Scripted, route: str, value: object) -> None:
    server.answers[route] = lambda _seen: web.json_response(value)


def _rows(
    kind: str, field: str, prefix: str, name: str, names: tuple[str, str]
) -> tuple[str, list[dict[str, Any]]]:
    """Two things of a kind: what a list shows of them."""
    first, second = ({field: prefix + one, name: called}
                     for one, called in zip((FIRST, SECOND), names, strict=True))  # fmt: skip
    return kind, [first, second]


SHARES = _rows("shares", "share_id", "sh_", "name", ("Bob", "Ann"))
RECORDINGS = _rows("recordings", "recording_id", "rec_", "terminal_id", ("t_1", "t_2"))
APPROVALS = _rows("approvals", "approval_id", "ap_", "state", ("pending", "granted"))
TOKENS = _rows("tokens", "id", "tok_", "name", ("ci", "cd"))
HOOKS = _rows("hooks", "hook_id", "hook_", "name", ("our Gitea", "Flux"))
WEBHOOKS = _rows("webhooks", "webhook_id", "whk_", "url", ("https://a.example/x", "https://b/y"))
PREVIEWS = _rows("previews", "preview_id", "pv_", "app", ("web", "docs"))
INVITATIONS = _rows("invitations", "invitation_id", "inv_", "email", ("bob@x.org", "ann@x.org"))
DASHBOARDS = _rows("dashboards", "id", "dsh_", "name", ("Plan", "Release 2"))
LOGINS = _rows("logins", "id", "alg_", "agent", ("codex", "qwen-code"))
EXECS = _rows("execs", "exec_id", "x_", "state", ("running", "running"))
BOX = "/v1/sandboxes/box"
TEAM = "/v1/organizations/acme/invitations"

CASES = [
    ("share rm box {}", f"{BOX}/shares", SHARES, "Bob", f"DELETE {BOX}/shares/sh_{FIRST}"),
    (
        "record box --delete {}",
        f"{BOX}/recordings",
        RECORDINGS,
        None,
        f"DELETE {BOX}/recordings/rec_{FIRST}",
    ),
    ("deny {}", "/v1/approvals", APPROVALS, None, f"POST /v1/approvals/ap_{FIRST}/deny"),
    ("revoke {}", "/v1/approvals", APPROVALS, None, f"POST /v1/approvals/ap_{FIRST}/revoke"),
    ("token revoke {}", "/v1/tokens", TOKENS, "ci", f"DELETE /v1/tokens/tok_{FIRST}"),
    ("hook rm -y {}", "/v1/hooks", HOOKS, "our Gitea", f"DELETE /v1/hooks/hook_{FIRST}"),
    (
        "webhook remove -y {}",
        "/v1/webhooks",
        WEBHOOKS,
        "https://a.example/x",
        f"DELETE /v1/webhooks/whk_{FIRST}",
    ),
    (
        "preview delete box {}",
        f"{BOX}/previews",
        PREVIEWS,
        "web",
        f"DELETE {BOX}/previews/pv_{FIRST}",
    ),
    ("org uninvite --org acme {}", TEAM, INVITATIONS, "bob@x.org", f"DELETE {TEAM}/inv_{FIRST}"),
    (
        "dashboard delete {}",
        "/v1/dashboards",
        DASHBOARDS,
        "Plan",
        f"DELETE /v1/dashboards/dsh_{FIRST}",
    ),
    (
        "agent logins --conceal {}",
        "/v1/agent-logins",
        LOGINS,
        "codex",
        f"PUT /v1/agent-logins/alg_{FIRST}/exposure",
    ),
]  # fmt: skip


def _acts(server: Scripted) -> list[str]:
    return [f"{seen.method} {seen.path}" for seen in server.seen if seen.method != "GET"]


def _listing(server: Scripted, place: str, rows: tuple[str, list[dict[str, Any]]]) -> None:
    kind, things = rows
    value = {kind: [{**one, "state": "ready", "status": "ready"} for one in things], "next": None}
    answers(server, f"GET {place}", value)


@pytest.mark.parametrize(("command", "place", "rows", "name", "act"), CASES)
def test_a_thing_is_named_by_its_id_the_beginning_of_it_or_its_name(
    cli: Cli,
    server: Scripted,
    *,
    command: str,
    place: str,
    rows: tuple[str, list[dict[str, Any]]],
    name: str | None,
    act: str,
) -> None:
    server.add("box")
    _listing(server, place, rows)
    whole = next(value for value in rows[1][0].values() if value.endswith(FIRST))
    short = whole[: -len(FIRST) + 4]
    named = [whole, short, f"{short}…", *([name] if name else [])]
    words = command.split()
    for reference in named:
        cli(*(reference if word == "{}" else word for word in words))
    assert _acts(server) == [act] * len(named)


def test_an_unknown_or_ambiguous_name_acts_on_nothing(cli: Cli, server: Scripted) -> None:
    _listing(server, "/v1/tokens", TOKENS)
    ran = cli("token", "revoke", "cii")
    assert ran.code == 3 and "did you mean `ci`" in ran.err
    ran = cli("token", "revoke", "tok_zz")
    assert ran.code == 3 and "`atoll token list`" in ran.err
    twice = ("tokens", [{**one, "name": "ci"} for one in TOKENS[1]])
    _listing(server, "/v1/tokens", twice)
    ran = cli("token", "revoke", "ci")
    assert ran.code == 4 and f"tok_{FIRST}" in ran.err and f"tok_{SECOND}" in ran.err
    assert _acts(server) == []


@pytest.mark.parametrize(
    "words",
    [
        ("info", "sb_aaaa"),
        ("stop", "sb_aaaa"),
        ("exec", "sb_aaaa", "true"),
        ("list", "--task", "sb_aaaa"),
        ("events", "--stream", "sandbox:sb_aaaa"),
        ("cp", "sb_aaaa:x", "-"),
        ("pr", "sb_aaaa"),
        ("route", "show", "sb_aaaa"),
        ("project", "setup", "sb_aaaa"),
        ("doctor", "sb_aaaa"),
    ],
)
def test_the_beginning_of_a_sandboxs_id_names_it(
    cli: Cli, server: Scripted, words: tuple[str, ...]
) -> None:
    server.add("box", sandbox_id=f"sb_{FIRST}")
    server.add("other", sandbox_id=f"sb_{SECOND}")
    server.files["x"] = b"hello"
    ran = cli(*words)
    assert "no sandbox" not in ran.err
    paths = [seen.path + str(seen.query) for seen in server.seen]
    assert any(f"sb_{FIRST}" in path for path in paths) and "sb_aaaa" not in "".join(
        path.replace(f"sb_{FIRST}", "") for path in paths
    )


def test_a_terminal_is_named_by_its_name(cli: Cli, server: Scripted) -> None:
    server.add("box")
    old = {"terminal_id": f"t_{FIRST}", "name": "setup", "state": "exited", "started_at": "2025"}
    server.terminals = [{**old, "terminal_id": f"t_{SECOND}", "started_at": "2026"}, old]
    answers(server, f"POST {BOX}/shares", {"link": "https://x", "expires_at": "2026"})
    assert cli("share", "box", "--terminal", "setup").code == 0
    assert server.seen[-1].json["terminal_id"] == f"t_{SECOND}"
    ran = cli("share", "box", "--terminal", "setpu")
    assert ran.code == 3 and "did you mean `setup`" in ran.err


def test_a_group_of_a_sandbox_shows_when_a_name_alone_is_given(cli: Cli, server: Scripted) -> None:
    server.add("box")
    answers(server, f"GET {BOX}/pull-requests", {"pull_requests": []})
    ran = cli("pr", "box")
    assert ran.code == 3 and "no pull request" in ran.err


def test_pull_pushed_takes_the_name_behind_it(cli: Cli, server: Scripted) -> None:
    server.add("box")
    push = {"kept_id": "kept_1", "branch": "fix", "commit": "c" * 40, "repo": 0, "subject": "Mend"}
    answers(server, f"GET {BOX}/pushes", {"pushes": [push]})
    for words in (("box", "--pushed"), ("--pushed", "box")):
        ran = cli("pull", *words)
        assert (ran.code, "fix" in ran.out) == (0, True)
    ran = cli("pull", "--pushed")
    assert ran.code == 2 and "needs NAME" in ran.err


SEVERAL = [
    ("share rm box Bob nobody Ann", f"{BOX}/shares", SHARES),
    ("token revoke ci nobody cd", "/v1/tokens", TOKENS),
]


@pytest.mark.parametrize(("command", "place", "rows"), SEVERAL)
def test_one_wrong_thing_of_several_is_said_and_the_others_are_done(
    cli: Cli, server: Scripted, command: str, place: str, rows: tuple[str, list[dict[str, Any]]]
) -> None:
    server.add("box")
    _listing(server, place, rows)
    for one in (FIRST, SECOND):
        prefix = "sh_" if "share" in command else "tok_"
        server.answers[f"DELETE {place}/{prefix}{one}"] = lambda _seen: web.Response(status=204)
    ran = cli(*command.split())
    assert ran.code == 3 and "'nobody'" in ran.err and ran.err.count("revoked") == 2
    assert [act[-16:] for act in _acts(server)] == [FIRST, SECOND]


def test_one_wrong_dashboard_link_of_several_is_said(cli: Cli, server: Scripted) -> None:
    _listing(server, "/v1/dashboards", DASHBOARDS)
    place = f"/v1/dashboards/dsh_{FIRST}/shares"
    _listing(server, place, SHARES)
    server.answers[f"DELETE {place}/sh_{SECOND}"] = lambda _seen: web.Response(status=204)
    ran = cli("dashboard", "unlink", "Plan", "nobody", "Ann")
    assert ran.code == 3 and "'nobody'" in ran.err and "revoked Ann" in ran.err


@pytest.mark.parametrize("verb", ["allow", "deny", "forget"])
def test_one_wrong_host_of_several_keeps_no_other_back(
    cli: Cli, server: Scripted, verb: str
) -> None:
    server.add("box")
    network = {"mode": "limited", "rules": [], "denied": [], "ranges": [], "host_ports": []}
    answers(server, f"GET {BOX}/network", network)

    def change(seen: Any) -> web.Response:
        if "bad host" in seen.json[verb]:
            said = {"code": "invalid", "detail": "'bad host' is no egress rule"}
            return web.json_response(said, status=422)
        return web.json_response(network)

    server.answers[f"PUT {BOX}/network"] = change
    ran = cli("net", verb, "box", "a.example", "bad host", "b.example")
    assert ran.code == 2 and "'bad host'" in ran.err and ran.out.count("limited") == 1
    sent = [seen.json[verb] for seen in server.requests("PUT", f"{BOX}/network")]
    assert sent == [["a.example"], ["bad host"], ["b.example"]]


@pytest.mark.parametrize(
    "words", [("new", "w/plain", "-d", "--no-wait"), ("project", "show", "w/plain")]
)
def test_a_remote_whose_name_a_folder_here_has_says_what_was_taken(
    cli: Cli, server: Scripted, words: tuple[str, ...], tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "w" / "plain").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    ran = cli(*words)
    assert "https://github.com/w/plain" in ran.err and "`./w/plain`" in ran.err
    assert "./o/r" not in cli(words[0], "o/r", *words[2:]).err
    ran = cli("new", "w", "-d")
    assert ran.code == 2 and "`./w`" in ran.err


def test_command_left_running_is_followed_by_the_beginning_of_its_id(
    cli: Cli, server: Scripted
) -> None:
    server.add("box")
    _listing(server, f"{BOX}/exec", EXECS)
    whole = f"{BOX}/exec/x_{FIRST}"
    answers(server, f"GET {whole}", {"exec_id": f"x_{FIRST}", "state": "running"})
    server.output = [{"exit": {"code": 0}}]
    cli("exec", "box", "--follow", "x_aaaa")
    assert server.requests("GET", whole)
