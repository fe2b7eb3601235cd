"""Names of other tools, misspelt words, and the one voice of errors."""

import io
import json
from pathlib import Path
from typing import Any

import click
import pytest

from atoll.domain.errors import Unavailable
from atoll.surfaces.cli import command_table as commands
from atoll.surfaces.cli.console.references import did_you_mean
from atoll.surfaces.cli.dispatch.aliases import resolve_alias, unknown
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, problem


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("ls",), "list"),
        (("ps", "-a"), "list"),
        (("rm", "box"), "destroy"),
        (("ssh", "box"), "attach"),
        (("status",), "list"),
        (("status", "--json"), "list"),
        (("status", "box"), "info"),
        (("nothing",), ""),
    ],
)
def test_word_of_another_tool_means_our_command(words: tuple[str, ...], command: str) -> None:
    assert resolve_alias(words[0], words[1:]) == command


def test_alias_runs_the_command_and_names_it(cli: Cli, server: Scripted) -> None:
    server.add("box")
    assert "box" in cli("ls").out
    assert "sb_box" in cli("status", "box").out
    assert "atoll destroy" in cli("rm", "--help").out
    assert cli("help", "share", "new").out == cli("share", "new", "--help").out
    assert "Machine" in cli("help").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lsit",), "there is no command `lsit`: did you mean `list`?"),
        (("run", "box"), "there is no command `run`: `atoll new` makes a sandbox"),
        (("q\x1b[2J",), "there is no command `q\\x1b[2J`; `atoll --help` lists them"),
        (("list", "--jsn"), "`atoll list` has no option `--jsn`: did you mean `--json`?"),
        (("exec",), "`atoll exec` needs NAME: see `atoll exec --help`"),
        (("up", "--port", "x"), "`--port` cannot be this: 'x' is not a valid integer"),
        (("image", "lst"), "there is no command `atoll image lst`: did you mean `list`?"),
        (("secret", "q\x1b[2J"), "`atoll secret q\\x1b[2J`; `atoll secret --help` lists them"),
        (("list", "one", "two"), "`atoll list` takes no `one two`: see `atoll list --help`"),
        (("destroy",), "`atoll destroy` needs NAME...: see `atoll destroy --help`"),
        (("commit", "box"), "`atoll commit` needs --message: see `atoll commit --help`"),
        (("share", "lst", "box"), "no command `atoll share lst`: did you mean `list`?"),
        (("secret", "set", "K", "--provider", "opnai"), "'opnai': did you mean `openai`"),
        (("exec", "-it", "box", "sh"), "`-t` needs a terminal on stdin and stdout: leave it out"),
    ],
)
def test_misspelt_word_is_answered_with_the_nearest(
    cli: Cli, words: tuple[str, ...], said: str
) -> None:
    ran = cli(*words)
    assert ran.code == 2
    assert ran.err.startswith("atoll: ") and ran.err.count("\n") == 1
    assert said in ran.err


def test_unknown_sandbox_is_answered_with_the_nearest(cli: Cli, server: Scripted) -> None:
    server.add("fix-login")
    ran = cli("info", "fix-lgin")
    said = "atoll: there is no sandbox 'fix-lgin': did you mean `fix-login`?\n"
    assert (ran.code, ran.err) == (3, said)
    assert cli("cp", "fix-lgin:a", "-").err == said
    assert "'qqq': `atoll list` shows which there are" in cli("info", "qqq").err
    server.answers["GET /v1/sandboxes"] = lambda _: problem(503, "unavailable", "busy")
    assert "did you mean" not in cli("info", "fix-lgin").err


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "there is no recording rec_x here; list them",
            "there is no recording rec_x here: `atoll record NAME --list` shows which there are",
        ),
        (
            "Sandbox box has no link 'sh_x': list them to see.",
            "sandbox box has no link 'sh_x': `atoll share list NAME` shows which there are",
        ),
        (
            "There is no approval 'ap_x': list them to see which there are.",
            "there is no approval 'ap_x': `atoll approvals` shows which there are",
        ),
        ("There is no such key here.", "there is no such key here"),
    ],
)
def test_unknown_id_is_answered_with_the_command_that_lists_them(
    cli: Cli, server: Scripted, message: str, said: str
) -> None:
    server.add("box")
    server.answers["GET /v1/sandboxes/box"] = lambda _: problem(404, "not_found", message)
    assert cli("info", "box").err == f"atoll: {said}\n"


def test_suggestion_is_short_and_of_known_names_only() -> None:
    assert did_you_mean("x" * 10_000, ["list"]) == ""
    assert unknown("atach", ["attach"]).count("`attach`") == 1


# `mcp` tells its client of a server that is away, and waits for it.
WITHOUT_A_SERVER = ("up", "down", "doctor", "completion", "wait-up", "mcp")


def _every_command() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name in commands.command_names():
        command = commands.atoll.get_command(click.Context(commands.atoll), name)
        found.append((name,))
        if isinstance(command, click.Group):
            found += [(name, sub) for sub in command.commands]
    return found


@pytest.mark.parametrize("words", _every_command())
def test_every_command_speaks_of_an_error_in_one_voice(
    cli: Cli, server: Scripted, words: tuple[str, ...]
) -> None:
    ran = cli(*words, "--no-such-option")
    assert ran.code == 2
    assert ran.err.startswith("atoll: ") and ran.err.count("\n") == 1
    assert not any(word in ran.err for word in ("Usage", "Error", "Traceback"))


@pytest.mark.parametrize(
    "words", [one for one in _every_command() if one[0] not in WITHOUT_A_SERVER]
)
def test_no_command_shows_a_traceback_where_no_server_is(
    cli: Cli,
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    environ["ATOLL_URL"] = "http://127.0.0.1:1"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"value\n")))
    ran = cli(*words, *_wanted(words, str(tmp_path / "absent")), host=_no_machine)
    assert ran.code not in (0, -1)
    assert "Traceback" not in ran.err + ran.out
    if "Usage:" not in ran.err:  # the help of a group
        assert ran.err.splitlines()[-1].startswith("atoll: ")


def _no_machine() -> Any:
    raise Unavailable("this machine is not to be touched")


def _wanted(words: tuple[str, ...], value: str) -> list[str]:
    """Return as many words as a command must have."""
    command: click.Command | None = commands.atoll
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    needed = [one for one in command.params if one.required]
    return [
        word
        for one in needed
        for word in ([one.opts[0], value] if isinstance(one, click.Option) else [value])
    ]


def test_message_of_the_server_begins_and_ends_as_ours(cli: Cli, server: Scripted) -> None:
    server.answers["GET /v1/sandboxes"] = lambda _: problem(503, "unavailable", "The disk is full.")
    assert cli("list").err == "atoll: the disk is full\n"


def test_times_are_local_and_utc_when_asked(
    cli: Cli, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    server.add("box", created_at="2026-01-01T00:00:00Z")
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        assert "2026-01-01 05:30:00 IST" in cli("info", "box").out
        for words in (("info", "box", "--utc"), ("--utc", "info", "box")):
            assert "2026-01-01 00:00:00 UTC" in cli(*words).out
        assert "IST" in cli("info", "box").out
        shown = json.loads(cli("info", "box", "--json").out)
    time.tzset()
    assert shown["created_at"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("words", "argv", "more"),
    [
        (("box", "ls", "-l"), ["ls", "-l"], {}),
        (("-e", "A=b", "box", "--", "env"), ["env"], {"env": {"A": "b"}}),
        (("box", "-w", "/srv", "sh", "-c", "pwd"), ["sh", "-c", "pwd"], {"cwd": "/srv"}),
        (("-iw", "/srv", "box", "--", "pwd", "--", "-P"), ["pwd", "--", "-P"], {"cwd": "/srv"}),
    ],
)
def test_exec_takes_its_words_in_the_order_of_docker(
    cli: Cli, server: Scripted, words: tuple[str, ...], argv: list[str], more: dict[str, object]
) -> None:
    server.add("box")
    assert cli("exec", "-d", *words).code == 0
    asked = server.requests("POST", "/v1/sandboxes/box/exec")[0].json
    assert (asked["argv"], {key: asked[key] for key in more}) == (argv, more)


@pytest.mark.parametrize(
    ("code", "exit_code"), [("no_such_program", 127), ("not_executable", 126), ("invalid", 2)]
)
def test_command_that_cannot_run_ends_as_in_a_shell(
    cli: Cli, server: Scripted, code: str, exit_code: int
) -> None:
    server.add("box")
    server.answers["POST /v1/sandboxes/box/exec"] = lambda _: problem(400, code, "cannot run 'x'")
    assert cli("exec", "box", "--", "x").code == exit_code


def test_exec_as_another_user_is_refused_with_the_reason(cli: Cli, server: Scripted) -> None:
    ran = cli("exec", "-u", "root", "box", "id")
    assert (ran.code, "one user" in ran.err, server.seen) == (2, True, [])


def test_exec_at_a_terminal_needs_one(cli: Cli, server: Scripted) -> None:
    ran = cli("exec", "-it", "box", "bash")
    assert (ran.code, server.requests("POST", "/v1/sandboxes/box/terminals")) == (2, [])
