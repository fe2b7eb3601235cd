"""The standard streams of a command: full, closed, or a terminal that is narrow."""

import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import web

from tests.surfaces.cli.commands.terminals.test_attach import person_tty
from tests.surfaces.cli.commands.terminals.test_exec import chunk, ended
from tests.surfaces.cli.conftest import spawned
from tests.surfaces.cli.scripted import Scripted

SHOWING = [("list",), ("list", "--json"), ("info", "box"), ("list", "--help"), ("help",)]


@pytest.mark.parametrize("words", [*SHOWING, ("exec", "box", "--", "true")])
def test_full_disk_is_one_line_and_no_traceback(
    server: Scripted, environ: dict[str, str], words: tuple[str, ...]
) -> None:
    server.add("box")
    server.output = [chunk("stdout", 0, b"output"), ended(0)]
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        command = spawned(environ, *words, stdout=full.fileno())
        told = command.communicate(timeout=20)[1]
    assert command.returncode == 1
    assert told == b"atoll: cannot write: No space left on device: free some space\n"


def test_full_disk_under_an_exported_recording_names_stdout(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.answers["GET /v1/sandboxes/box/recordings/rec_1"] = lambda _: web.Response(body=b"{}")
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        words = ("record", "box", "--export", "rec_1")
        command = spawned({**environ}, *words, stdout=full.fileno())
        told = command.communicate(timeout=20)[1]
    assert told == b"atoll: stdout cannot be written: No space left on device\n"


def test_recording_exported_to_a_dash_goes_to_stdout_and_makes_no_file(
    server: Scripted, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server.answers["GET /v1/sandboxes/box/recordings/rec_1"] = lambda _: web.Response(body=b"{}")
    words = ("record", "box", "--export", "rec_1", "-o", "-")
    assert spawned(environ, *words).communicate(timeout=20) == (b"{}", b"")
    assert not Path("-").exists()


@pytest.mark.parametrize("words", [*SHOWING, ("exec", "box", "--", "true"), ("info", "none")])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_neither_the_code_nor_a_connection(
    server: Scripted, environ: dict[str, str], words: tuple[str, ...], closed: str
) -> None:
    server.add("box")
    server.output = [chunk("stdout", 0, b"output"), ended(0)]
    line = f'exec "$0" -m atoll.wiring.command "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, *words], env=environ, capture_output=True, timeout=20
    )
    assert done.returncode == (3 if "none" in words else 0)
    assert b"Traceback" not in done.stderr


def test_list_fits_a_narrow_terminal_and_a_pipe_has_it_whole(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("app-with-a-name", metadata={"repo_url": "https://e.org/o/r", "branch": "b" * 60})
    with person_tty({**environ, "NO_COLOR": "1"}, "list") as person:
        assert person.ends() == 0
        lines = person.seen.decode().splitlines()
    assert max(map(len, lines)) <= 100
    assert "r@bbb" in lines[1] and "…" in lines[1] and "app-with-a-name" in lines[1]
    assert b"b" * 60 in spawned(environ, "list").communicate(timeout=20)[0]


@pytest.mark.parametrize(
    "words",
    [
        ("info", "\udcff"),
        ("exec", "\udcff", "--", "true"),
        ("events", "--stream", "\udcff"),
        ("new", ".", "a\udcff", "-d"),
    ],
)
def test_argument_that_is_not_utf8_is_one_line_and_no_traceback(
    server: Scripted, environ: dict[str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    command = spawned(environ, *words, cwd=tmp_path)
    told = command.communicate(timeout=20)[1].decode()
    assert command.returncode == 2
    assert told.startswith("atoll: ") and told.count("\n") == 1
    assert "not UTF-8" in told or "cannot name a branch" in told


def test_stream_that_takes_ascii_only_spells_the_rest_out(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box", project={"state": "failed"}, metadata={"repo_url": "https://e.org/é"})
    command = spawned({**environ, "PYTHONIOENCODING": "ascii"}, "list")
    out, told = command.communicate(timeout=20)
    assert (command.returncode, told) == (0, b"")
    assert b"\\xe9" in out
