"""`atoll list`: what agents do, and the list that follows changes."""

import json
from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli, spawned
from tests.surfaces.cli.scripted import Scripted

AT = "2999-01-01T00:00:00Z"


def agent(status: str, **fields: Any) -> dict[str, Any]:
    told = {"status": status, "since": AT, "turns": 0, **fields}
    return {"id": "t_1", "agent": "codex", "mode": "tui", "status": told}


@pytest.mark.parametrize(
    ("agents", "expected"),
    [
        ([agent("working", on="npm test")], "works 0s: npm test"),
        (
            [agent("needs_you", question="Allow Bash? ls\x1b[2J")],
            "needs you 0s: Allow Bash? ls\\x1b[2J",
        ),
        (
            [agent("done", turns=1, commits=2, plus=12, minus=3)],
            "done 0s: 1 turn, 2 commits, +12 -3",
        ),
        ([agent("failed", reason="no key"), agent("idle")], "failed 0s: no key (+1)"),
        ([agent("working", on="x" * 99)], "works 0s: " + "x" * 47 + "…"),
        ([agent("stopped")], "stopped"),
        ([], "not started"),
    ],
)
def test_list_says_what_the_agent_of_a_sandbox_does(
    cli: Cli, server: Scripted, agents: list[Any], expected: str
) -> None:
    server.add("one", agent="codex", agents=agents)
    heading, row = cli("list").out.splitlines()
    assert row[heading.index("STATUS") :].startswith(expected + "  ")


def test_who_needs_their_person_comes_first_in_the_table_and_in_json(
    cli: Cli, server: Scripted
) -> None:
    server.add("new", agents=[agent("working")])
    server.add("setup", project={"state": "failed"}, task={"state": "waiting"})
    server.add("done", agents=[agent("done", turns=1)])
    server.add("asks", agents=[agent("needs_you", question="Allow?")])
    names = [one["name"] for one in json.loads(cli("list", "--json").out)["sandboxes"]]
    assert names == ["setup", "asks", "new", "done"]
    assert [row.split()[0] for row in cli("list").out.splitlines()[1:]] == names


@pytest.mark.parametrize(("state", "words"), [("ready", "starting  "), ("failed", "-  ")])
def test_list_says_that_an_agent_with_a_task_is_starting_while_its_sandbox_runs(
    cli: Cli, server: Scripted, state: str, words: str
) -> None:
    server.add("one", agent="codex", task={"state": "given"}, state=state)
    heading, row = cli("list").out.splitlines()
    assert row[heading.index("STATUS") :].startswith(words)


def test_list_of_a_sandbox_without_an_agent_says_nothing_of_one(cli: Cli, server: Scripted) -> None:
    server.add("one")
    heading, row = cli("list").out.splitlines()
    assert row[heading.index("STATUS") :].split()[0] == "-"


def test_list_says_which_sandbox_is_on_a_machine_that_is_away_and_why(
    cli: Cli, server: Scripted
) -> None:
    server.add("here", state="active")
    server.add("far", state="active", reason="not reached now: host box: no route\x1b[2J")
    server.add("gone", state="failed", reason="host box: that machine was started anew")
    shown = cli("list")
    states = {row.split()[0]: row for row in shown.out.splitlines()[1:]}
    assert "active (not reached)" in states["far"]
    assert [name for name, row in states.items() if "not reached" in row] == ["far"]
    assert shown.err == "far is not reached now: host box: no route\\x1b[2J\n"


def test_info_says_what_each_agent_does(cli: Cli, server: Scripted) -> None:
    server.add("one", agents=[agent("needs_you", question="Allow?\x1b[2J"), agent("idle")])
    shown = [
        row.split(maxsplit=1)[1] for row in cli("info", "one").out.splitlines() if "codex:" in row
    ]
    assert shown == ["codex: needs you 0s: Allow?\\x1b[2J", "codex: idle 0s"]


def test_info_says_why_agents_do_not_have_a_tool(cli: Cli, server: Scripted) -> None:
    server.add("one")
    assert "tool " not in cli("info", "one").out
    told = [
        {"name": "events.recent", "rule": "allow", "missing": None, "reason": None},
        {"name": "far.send", "rule": "ask", "missing": None, "reason": None},
        {"name": "atoll.exec", "rule": "deny", "missing": "not_inside", "reason": "it\x1b[2J is"},
    ]
    server.answers["GET /v1/sandboxes/sb_one/tools"] = lambda _: web.json_response({"tools": told})
    shown = [row.split(maxsplit=1)[1] for row in cli("info", "one").out.splitlines()[-3:]]
    assert shown == [
        "events.recent: yes",
        "far.send: after a person approves",
        "atoll.exec: no, it\\x1b[2J is",
    ]
    assert json.loads(cli("info", "one", "--json").out)["tools"] == told


def test_watched_list_is_shown_again_at_a_change(environ: dict[str, str], server: Scripted) -> None:
    server.add("one", agents=[agent("working")])
    process = spawned(environ, "list", "--watch", "--json")
    try:
        assert process.stdout is not None
        assert _statuses(process.stdout.readline()) == ["working"]
        server.sandboxes["one"]["agents"] = [agent("done", turns=1)]
        server.events.append({"position": 1, "event_type": "agent.status"})
        assert _statuses(process.stdout.readline()) == ["done"]
    finally:
        process.kill()
        process.communicate()


def _statuses(line: bytes) -> list[str]:
    (sandbox,) = json.loads(line)["sandboxes"]
    return [one["status"]["status"] for one in sandbox["agents"]]


def test_what_a_repository_has_and_its_sandbox_does_not_is_named(
    cli: Cli, server: Scripted
) -> None:
    repo = {"path": "/workspace", "branch": "fix", "submodules": ["a b", "c"], "lfs_files": 2}
    server.add("one", repos=[repo])
    told = cli("info", "one").out
    inside = "`atoll exec one --cwd /workspace -- git"
    brings = f"{inside} submodule update --init --recursive`"
    assert f"submodules are not laid out (a b, c): {brings}" in told
    assert f"2 files of LFS are pointers: {inside} lfs pull`" in told


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        ("2999-01-02T00:00:00Z", "`atoll extend-ttl box 4h` gives it more time"),
        ("2999-01-01T00:08:30Z", "`atoll extend-ttl box 8m` gives it more time"),
        (AT, "the latest that profile.shell allows: pull what you need of it"),
    ],
)
def test_notice_of_an_end_offers_only_time_that_the_profile_allows(
    cli: Cli, server: Scripted, most: str, expected: str
) -> None:
    profile = {"id": "profile.shell", "version": "1.0.0"}
    server.add("box", ends_soon=True, expires_at=AT, max_expires_at=most, profile=profile)
    said = cli("list")
    assert (said.out + said.err).rstrip().endswith(expected)


def test_list_of_a_harness_asks_the_server_for_its_sandboxes_alone(
    cli: Cli, server: Scripted
) -> None:
    server.add("one")
    assert cli("list", "--harness", "a&state=failed").code == 0
    (seen,) = server.requests("GET", "/v1/sandboxes")
    assert seen.query["harness"] == "a&state=failed"
    assert "state" not in seen.query
