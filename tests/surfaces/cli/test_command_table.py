"""The everyday commands against a scripted control plane."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from aiohttp import web

from atoll.ports.host import Finding, UpOptions
from atoll.surfaces.cli import command_table as commands
from atoll.surfaces.cli.entry import run
from tests.surfaces.cli.conftest import Cli, no_host, spawned
from tests.surfaces.cli.scripted import TOKEN, Scripted, problem

LIGHT = (
    "atoll.client.",
    "atoll.domain.unseen",
    "atoll.domain.error",
    "atoll.surfaces.cli",
    "atoll.wire.http",
)
"""The packages that `list` and plain `exec` may load."""


def test_list_with_sandboxes_shows_a_table(cli: Cli, server: Scripted) -> None:
    server.add("one")
    server.add("two", state="stopped", agent="codex")
    ran = cli("list")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split() == ["NAME", "STATE", "STATUS", "AGE", "PROFILE", "AGENT", "REPOSITORY"]
    assert lines[1].split()[:2] == ["one", "ready"]
    assert lines[2].split()[5:] == ["codex", "r@fix"]


def test_list_with_many_pages_follows_the_cursor(cli: Cli, server: Scripted) -> None:
    for name in ("one", "two", "three"):
        server.add(name)
    shown = json.loads(cli("list", "--json").out)
    assert [row["name"] for row in shown["sandboxes"]] == ["one", "two", "three"]


def test_list_with_hostile_names_prints_no_control_character(cli: Cli, server: Scripted) -> None:
    server.add("x\x1b]0;owned\x07\u202egnp.\x9b\u3164A")
    ran = cli("list")
    assert "\\x1b]0;owned\\x07\\u202egnp.\\x9b\\u3164A" in ran.out
    assert not set(ran.out) & {"\x1b", "\x07", "\u202e", "\x9b"}
    assert "\x9b" not in cli("list", "--json").out


def test_info_of_a_sandbox_names_its_wall_and_what_is_missing(cli: Cli, server: Scripted) -> None:
    server.add("one", reason="because")
    ran = cli("info", "one")
    assert "container (bubblewrap, host uid 1900000001)" in ran.out
    assert "memory: no delegated cgroup" in ran.out
    assert json.loads(cli("info", "one", "--json").out)["sandbox_id"] == "sb_one"


def test_info_says_how_a_sandbox_is_reached_and_why_its_webhook_fails(
    cli: Cli, server: Scripted
) -> None:
    webhook = {
        "webhook_id": "whk_1",
        "host": "hooks.example",
        "state": "failing",
        "reason": "hooks.example \x1b[2Janswered 500.",
    }
    tunnel = {"kind": "wireguard", "url": "https://bridge.example"}
    server.add("box", reachability={"tunnel": tunnel, "lifecycle_webhook": webhook})
    shown = cli("info", "box").out
    assert "https://bridge.example (wireguard)" in shown
    assert "whk_1 to hooks.example, failing: hooks.example" in shown
    assert "\x1b[2J" not in shown


@pytest.mark.parametrize(
    ("usage", "shown"),
    [
        ((13 * 2**20, 512 * 2**20, 5, 96), "runtime       13 of 512 MiB, 5 of 96 tasks\n"),
        ((13 * 2**20, None, 5, None), "runtime       13 MiB, 5 tasks\n"),
        ((13 * 2**20, None, None, None), "runtime       13 MiB\n"),
    ],
)
def test_info_shows_what_the_runtime_takes(
    cli: Cli, server: Scripted, usage: tuple[int | None, ...], shown: str
) -> None:
    server.add("one")
    assert "runtime " not in cli("info", "one").out
    names = ("memory_bytes", "most_memory_bytes", "tasks", "most_tasks")
    server.usage = dict(zip(names, usage, strict=True))
    assert shown in cli("info", "one").out
    assert json.loads(cli("info", "one", "--json").out)["runtime_usage"] == server.usage


def test_info_lists_what_was_left_running_without_its_control_characters(
    cli: Cli, server: Scripted
) -> None:
    server.add("one", state="active")
    server.left_running = [{"pid": 31, "command": "sleep\x1b[2J 1000"}]
    assert "left running  sleep\\x1b[2J 1000 (pid 31)" in cli("info", "one").out
    assert json.loads(cli("info", "one", "--json").out)["left_running"] == server.left_running


def test_info_without_a_name_takes_the_only_sandbox(cli: Cli, server: Scripted) -> None:
    server.add("one")
    assert "sb_one" in cli("info").out
    server.add("two")
    ran = cli("info")
    assert ran.code == 2
    assert "one, two" in ran.err


def test_ended_sandbox_is_not_meant_beside_one_that_goes_on(cli: Cli, server: Scripted) -> None:
    server.add("old", state="expired")
    server.add("new", state="active")
    assert "sb_new" in cli("info").out
    assert "sb_old" in cli("info", "old").out


def test_new_detached_waits_until_ready_and_prints_the_name(cli: Cli, server: Scripted) -> None:
    ran = cli(
        "new", "owner/repo", "fix", "main", "--profile", "python", "--agent", "codex",
        "--network", "full", "--name", "box", "--ttl", "2h", "--env", "A=b=c", "--scope", "shared",
        "--detach",
    )  # fmt: skip
    assert (ran.code, ran.out) == (0, "box\n")
    asked = server.requests("POST", "/v1/sandboxes")[0]
    assert asked.json == {
        "profile": "python",
        "agent": "codex",
        "network_mode": "full",
        "name": "box",
        "scope": "shared",
        "ttl": "2h",
        "env": {"A": "b=c"},
        "repos": [
            {"branch": "fix", "from_branch": "main", "repo_url": "https://github.com/owner/repo"}
        ],
        "consumer": {
            "actor": "adm",
            "harness": "atoll-cli",
            "session_id": "https://github.com/owner/repo@fix",
        },
    }
    assert len(asked.headers["Idempotency-Key"]) == 32


def test_new_with_json_prints_the_sandbox_and_does_not_attach(cli: Cli, server: Scripted) -> None:
    made = json.loads(cli("new", "--json").out)
    assert (made["state"], server.terminals) == ("ready", [])
    assert json.loads(cli("new", "--json", "--no-wait", "--name", "n").out)["state"] == (
        "provisioning"
    )


def test_new_that_fails_says_why_and_where_to_look(cli: Cli, server: Scripted) -> None:
    server.answers["POST /v1/sandboxes"] = lambda _: _json(
        server.add("bad", state="provisioning", becomes="failed", reason="no such branch")
    )
    ran = cli("new", "--detach", "--name", "bad")
    assert ran.code == 1
    assert "bad is failed: no such branch" in ran.err
    assert "made the \\x1b[31mwall" in ran.err
    assert "atoll destroy bad" in ran.err


def test_new_without_a_terminal_makes_nothing(cli: Cli, server: Scripted) -> None:
    ran = cli("new")
    assert ran.code == 2
    assert "--detach or --json" in ran.err
    assert server.seen == []


def test_new_with_a_hostile_address_is_refused_here(cli: Cli, server: Scripted) -> None:
    for address in ("ext::sh -c id", "file:///etc", "--upload-pack=x:y"):
        ran = cli("new", "--detach", "--", address)
        assert ran.code == 2, address
    assert server.seen == []


def test_stop_start_recreate_extend_and_destroy_call_their_verbs(
    cli: Cli, server: Scripted
) -> None:
    server.add("one")
    assert "one is stopped" in cli("stop", "one").out
    assert "one is ready" in cli("start", "one").out
    assert "generation 1" in cli("recreate", "one", "--yes").out
    assert "lives until" in cli("extend-ttl", "one", "2h").out
    assert server.requests("POST", "/v1/sandboxes/one/extend_ttl")[0].json == {"ttl": "2h"}
    assert "one is destroyed" in cli("destroy", "one", "-y").out
    asked = server.requests("POST", "/v1/sandboxes/sb_one/destroy")[0]
    assert asked.query == {"wait": "true"}


@pytest.mark.parametrize("verb", ["start", "recreate"])
def test_sandbox_that_comes_up_again_tells_what_was_logged_since(
    cli: Cli, server: Scripted, verb: str
) -> None:
    begun = server.add("one") | {"state": "provisioning", "updated_at": "2026-01-02T00:00:00.000Z"}
    failed = begun | {"state": "failed", "reason": "the disk is full"}
    lines = [
        {"at": "2026-01-01T00:00:00.000Z", "text": "of the first time"},
        {"at": "2026-01-02T00:00:00.000Z", "text": "of this time"},
    ]
    for reference in ("one", "sb_one"):
        server.answers[f"POST /v1/sandboxes/{reference}/{verb}"] = lambda _: web.json_response(
            begun
        )
    server.answers["GET /v1/sandboxes/sb_one"] = lambda _: web.json_response(failed)
    server.answers["GET /v1/sandboxes/sb_one/logs"] = lambda _: web.json_response({"lines": lines})
    words = ("recreate", "one", "--yes") if verb == "recreate" else ("start", "one")
    ran = cli(*words)
    assert ran.code == 1
    assert "of this time" in ran.err and "of the first time" not in ran.err


def test_start_says_which_agents_went_on_and_may_ask_for_none(cli: Cli, server: Scripted) -> None:
    server.add("one")["agent"] = "codex"
    assert "one is ready\n" in cli("start", "one", "--no-resume-agent").out
    asked = server.requests("POST", "/v1/sandboxes/one/start")[0]
    assert asked.query == {"resume_agents": "false"}
    assert cli("start", "one", "--resume-agent").code == 0
    (opened,) = server.requests("POST", "/v1/sandboxes/sb_one/agents")
    assert opened.json == {"agent": "codex", "resume": True}
    running = [{"agent": "codex", "agent_state": "running"}]
    server.answers["GET /v1/sandboxes/sb_one/agents"] = lambda _: web.json_response(
        {"agents": running}
    )
    assert "one is ready, codex with it" in cli("start", "one").out


def test_destroy_without_a_terminal_or_yes_destroys_nothing(cli: Cli, server: Scripted) -> None:
    server.add("one")
    ran = cli("destroy", "one")
    assert ran.code == 1
    assert "add --yes" in ran.err
    assert not server.requests("POST", "/v1/sandboxes/sb_one/destroy")


@pytest.mark.parametrize(
    ("command", "path"), [("destroy", "destroy"), ("stop", "stop"), ("start", "start")]
)
def test_one_unknown_name_of_several_is_said_and_the_others_are_done(
    cli: Cli, server: Scripted, command: str, path: str
) -> None:
    state = "stopped" if command == "start" else "ready"
    server.add("one", state=state)
    server.add("two", state=state)
    yes = ("--yes",) if command == "destroy" else ()
    ran = cli(command, "one", "tow", "two", *yes)
    assert ran.code == 3
    assert "there is no sandbox 'tow'" in ran.err and "one is" in ran.out and "two is" in ran.out
    done = [seen.path.replace("sb_", "") for seen in server.seen if seen.method == "POST"]
    for name in ("one", "two"):
        assert done.count(f"/v1/sandboxes/{name}/{path}") == 1


def test_destroy_of_unknown_names_alone_asks_nothing(cli: Cli, server: Scripted) -> None:
    ran = cli("destroy", "tow", "eno")
    assert ran.code == 3
    assert "'tow'" in ran.err and "'eno'" in ran.err and "Destroy" not in ran.err


def test_prune_takes_only_what_is_over_and_old(cli: Cli, server: Scripted) -> None:
    server.add("live")
    server.add("dead", state="failed")
    server.add("rest", state="stopped")
    server.add("young", state="expired", updated_at="2999-01-01T00:00:00Z")
    assert "dead" in cli("prune", "--older-than", "1d", "--dry-run").out
    assert server.sandboxes["dead"]["state"] == "failed"
    ran = cli("prune", "--older-than", "1d", "--yes", "--json")
    assert [row["name"] for row in json.loads(ran.out)["sandboxes"]] == ["dead"]
    assert "destroyed 1" in cli("prune", "--older-than", "1d", "--stopped", "--yes").out
    assert server.sandboxes["rest"]["state"] == "destroyed"
    assert server.sandboxes["young"]["state"] == "expired"
    assert cli("prune", "--older-than", "soon").code == 2


def test_logs_are_shown_cleaned(cli: Cli, server: Scripted) -> None:
    server.add("one")
    assert "made the \\x1b[31mwall" in cli("logs", "one").out
    assert json.loads(cli("logs", "one", "--json").out)["lines"]


def test_logs_followed_end_when_it_is_made(cli: Cli, server: Scripted) -> None:
    server.add("one", state="provisioning")
    ran = cli("logs", "one", "--follow")
    assert ran.out.count("wall") == 1


def test_events_are_listed_by_sandbox_name(cli: Cli, server: Scripted) -> None:
    server.add("one")
    server.events = [_event(1), _event(2)]
    ran = cli("events", "--stream", "one", "--after", "0", "--limit", "5")
    assert ran.out.splitlines()[0].split() == ["t", "sandbox:sb_one", "sandbox.ready", "adm:person"]
    asked = server.requests("GET", "/v1/events")[0]
    assert asked.query == {"stream": "sandbox:sb_one", "after": "0", "limit": "5"}


def test_events_say_what_happened_and_newest_are_asked_for(cli: Cli, server: Scripted) -> None:
    refused = {"host": "a.example", "port": 443, "allow": "atoll net allow x", "n": 3, "detail": ""}
    server.events = [_event(1) | {"payload": {**refused, "exit": {"code": 0}, "rules": ["a", "b"]}}]
    line = cli("events").out.strip()
    said = 'host=a.example port=443 allow="atoll net allow x" exit.code=0 rules=a,b'
    assert line == f"t  sandbox:sb_one  sandbox.ready  adm:person  {said}"
    assert server.requests("GET", "/v1/events")[0].query == {"latest": "true", "limit": "100"}


def test_events_followed_over_broken_lines_have_no_gap_and_no_repeat(
    environ: dict[str, str], server: Scripted
) -> None:
    server.events = [_event(n) for n in range(1, 6)]
    process = spawned(environ, "events", "--follow", "--json")
    try:
        assert process.stdout is not None
        got = [json.loads(process.stdout.readline())["position"] for _ in range(5)]
    finally:
        process.terminate()
        process.communicate(timeout=10)
    assert got == [1, 2, 3, 4, 5]


def test_events_that_are_no_longer_kept_are_named_beside_the_answer(
    cli: Cli, environ: dict[str, str], server: Scripted
) -> None:
    server.events, server.gap = [_event(4)], {"after": 0, "to": 3}
    said = "atoll: some events after position 0 and up to 3 are no longer kept"
    ran = cli("events", "--after", "0")
    assert said in ran.err and said not in ran.out
    assert said not in cli("events").err
    process = spawned(environ, "events", "--follow", "--json")
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["position"] == 4
    finally:
        process.terminate()
        _, err = process.communicate(timeout=30)
    assert err.decode().count(said) == 1


def test_login_prints_the_link_alone_on_stdout(cli: Cli, server: Scripted) -> None:
    assert cli("login").out == f"{server.url}/#login=abc\n"


def test_profile_commands_speak_of_profiles(cli: Cli, server: Scripted, tmp_path: Path) -> None:
    row = {"id": "profile.mine", "version": "1.0.0", "description": "d\x1b", "bundled": False}
    blocked = {**row, "id": "profile.a", "obstacle": "the agent x is not installed"}
    server.answers["GET /v1/profiles"] = lambda _: _json({"profiles": [blocked, row]})
    server.answers["GET /v1/profiles/mine"] = lambda _: _json({**row, "versions": ["1.0.0"]})
    server.answers["DELETE /v1/profiles/mine"] = lambda _: _json({}, 200)
    server.answers["PUT /v1/profiles/profile.mine"] = lambda _: _json(row)
    _, first, second = cli("profile", "list").out.splitlines()
    assert first.startswith("profile.mine")
    assert second.endswith("not usable here: the agent x is not installed")
    shown = cli("profile", "show", "mine").out
    assert "id: profile.mine" in shown
    assert "bundled" not in shown
    assert "deleted every version of mine" in cli("profile", "delete", "mine", "--yes").out
    file = tmp_path / "mine.yaml"
    file.write_text("id: profile.mine\nversion: 1.0.0\n")
    assert "is valid" in cli("profile", "validate", str(file)).out
    file.write_text(file.read_text() + "reachability: {tunnel: ops-bridge}\n")
    assert "looks at its tunnel" in cli("profile", "validate", str(file)).err
    assert "saved profile.mine 1.0.0" in cli("profile", "save", str(file)).out
    assert server.requests("PUT", "/v1/profiles/profile.mine")[0].body == file.read_bytes()


def test_profile_that_is_wrong_names_line_and_field(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("id: profile.mine\nversion: 1.0.0\ncolour: blue\n")
    ran = cli("profile", "validate", str(file))
    assert ran.code == 2
    assert "colour" in ran.err and "3" in ran.err


class Machine:
    """A host that notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def up(self, options: UpOptions) -> None:
        self.asked.append(options)

    def down(self, home: Path) -> None:
        self.asked.append(home)

    def doctor(self, home: Path) -> list[Finding]:
        self.asked.append(home)
        return [Finding("bwrap", "ok", "0.11"), Finding("disk", "fail", "full\x1b", "free some")]


def test_up_and_down_ask_the_machine(cli: Cli, tmp_path: Path) -> None:
    machine = Machine()
    cli("up", "--port", "8123", "--no-browser", "--home", "/tmp/h", host=lambda: machine)
    cli("up", host=lambda: machine)
    assert cli("down", host=lambda: machine).code == 1
    assert cli("down", "--yes", host=lambda: machine).code == 0
    assert machine.asked == [
        UpOptions(Path("/tmp/h"), 8123, browser=False),
        UpOptions(tmp_path, None, browser=True),
        tmp_path,
    ]


def test_down_first_stops_what_runs(cli: Cli, server: Scripted, tmp_path: Path) -> None:
    place = {"path": "/workspace", "repo": 0, "branch": "fix", "commits": 2, "tip": "a" * 40}
    files: dict[str, Any] = {"subject": "", "stashes": 0, "changed": [], "untracked": [], "more": 0}
    server.add("live", unpulled=[place | files])
    server.add("dead", state="failed")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "control.json").write_text(json.dumps({"url": server.url, "pid": 1}))
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    asked = cli("down", host=Machine)
    assert asked.code == 1 and "live holds work that was not pulled: /workspace" in asked.err
    assert cli("down", "--yes", host=Machine).code == 0
    assert server.sandboxes["live"]["state"] == "stopped"
    assert server.sandboxes["dead"]["state"] == "failed"


def test_down_stops_what_runs_for_others_and_says_when_it_could_ask_nobody(
    cli: Cli, server: Scripted, tmp_path: Path
) -> None:
    running = [{"sandbox_id": "sb_theirs", "name": "theirs", "state": "active", "owner": "eve"}]

    def stop(_seen: Any) -> web.Response:
        return web.json_response(running.pop(), status=202)

    broken = {"sandbox_id": "sb_broken", "name": "broken", "state": "ready"}
    place = "/v1/running"
    server.answers[f"GET {place}"] = lambda _: web.json_response({"sandboxes": [*running, broken]})
    server.answers[f"POST {place}/sb_theirs/stop"] = stop
    server.answers[f"POST {place}/sb_broken/stop"] = lambda _: problem(500, "failed", "it hangs")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "control.json").write_text(json.dumps({"url": server.url, "pid": 1}))
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    ran = cli("down", "--yes", host=Machine)
    assert (ran.code, running) == (0, [])
    assert "were not stopped" not in ran.err and "broken was not stopped: it hangs" in ran.err
    (tmp_path / "run" / "control.json").unlink()
    alone = cli("down", "--yes", host=Machine)
    assert alone.code == 0 and "sandboxes on other machines were not stopped" in alone.err


def test_doctor_shows_findings_and_fails_when_no_wall_is_safe(cli: Cli) -> None:
    ran = cli("doctor", host=Machine)
    assert ran.code == 1
    assert ran.out.splitlines()[0].split() == ["ok", "bwrap", "0.11"]
    assert "full\\x1b" in ran.out and "free some" in ran.out
    findings = json.loads(cli("doctor", "--json", host=Machine).out)["findings"]
    assert findings[0] == {"name": "bwrap", "level": "ok", "text": "0.11", "fix": ""}


def test_usage_errors_exit_with_2(cli: Cli) -> None:
    assert cli("nonsense").code == 2
    assert cli("list", "--nonsense").code == 2
    assert cli("exec", "one").code == 2


def test_help_table_and_commands_say_the_same() -> None:
    context = click.Context(commands.atoll)
    for group, ordered in commands.ORDER.items():
        found = commands.groups()[group]
        names = [entry.rpartition("/")[2] for entry in ordered]
        assert list(found)[: len(names)] == names
        for name, summary in found.items():
            command = commands.atoll.get_command(context, name)
            assert command is not None and command.name == name
            assert (command.help or "").partition("\n")[0] == summary


@pytest.mark.parametrize(
    "name", ["control", "extend_ttl", "__init__", "../sandboxes/new", "sandboxes.new"]
)
def test_what_is_no_command_is_not_found(cli: Cli, name: str) -> None:
    assert name not in commands.command_names()
    assert cli(name).code == 2


def test_help_loads_no_command_and_no_network(environ: dict[str, str]) -> None:
    code = (
        "import sys, atoll.surfaces.cli.command_table as c;"
        "c.run(['--help'], {}, None);"
        "heavy = {'aiohttp', 'asyncio', 'http.client', 'yaml'};"
        "heavy.add('atoll.surfaces.cli.commands.sandboxes.new');"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30)
    assert done.stderr.decode().strip() == "[]"
    assert b"Attach to a sandbox" in done.stdout


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("exec", "box", "--", "true")])
def test_command_of_every_minute_loads_little(
    environ: dict[str, str], server: Scripted, words: tuple[str, ...]
) -> None:
    server.add("box", ends_soon=True)
    server.output = [{"exit": {"exec_id": "ex_1", "exit_code": 0, "signal": None}}]
    code = (
        "import os, sys; from atoll.surfaces.cli.entry import run;"
        "code = run(sys.argv[1:], os.environ, None);"
        "print(code, *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        timeout=30,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
    )
    ended, *loaded = done.stderr.decode().splitlines()[-1].split()
    heavy = {"asyncio", "click", "dataclasses", "email", "http", "inspect", "pathlib", "ssl"}
    assert (ended, heavy & set(loaded)) == ("0", set())
    ours = {name for name in loaded if name.startswith("atoll.") and name.count(".") > 1}
    assert not {name for name in ours if not name.startswith(LIGHT)}


def test_output_cut_short_by_a_reader_ends_quietly(
    environ: dict[str, str], server: Scripted
) -> None:
    for number in range(200):
        server.add(f"box{number}")
    reading, writing = os.pipe()
    os.close(reading)
    process = spawned(environ, "list", stdout=writing)
    os.close(writing)
    _, err = process.communicate(timeout=20)
    # 1 as click has it: in `atoll list | head` nobody looks.
    assert (process.returncode, err) == (1, b"")


def _json(value: dict[str, Any], status: int = 200) -> Any:
    from aiohttp import web

    return web.json_response(value, status=status)


def _event(position: int) -> dict[str, Any]:
    return {
        "position": position,
        "at": "t",
        "stream": "sandbox:sb_one",
        "event_type": "sandbox.ready",
        "actor": {"kind": "adm", "id": "person"},
        "reason": None,
    }


@pytest.mark.parametrize(
    ("status", "code", "shown"), [(503, 5, True), (502, 1, True), (404, 3, False)]
)
def test_fault_of_the_server_names_the_request(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    status: int,
    code: int,
    shown: bool,
) -> None:
    async def broken(self: Scripted, request: web.Request) -> web.Response:
        return problem(status, "gone", "The store is gone.", request_id="req-4711")

    monkeypatch.setattr(Scripted, "handle", broken)
    with Scripted().serving() as server:
        found = run(["list"], {"ATOLL_URL": server.url, "ATOLL_TOKEN": TOKEN}, no_host)
    said = capfd.readouterr().err
    assert (found, said.count("\n")) == (code, 1)
    assert ("(request req-4711)" in said) is shown
