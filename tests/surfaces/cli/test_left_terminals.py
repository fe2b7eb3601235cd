"""A person's terminal is as it was, however a command that draws on it ends."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.surfaces.cli.commands.terminals.test_attach import PATIENCE, PersonTty, person_tty
from tests.surfaces.cli.conftest import spawned
from tests.surfaces.cli.scripted import Scripted

DRAWN = "\x1b[?1049h\x1b[?25l\x1b[?2004hdrawn"
ENDING = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording that changes modes and then lasts."""
    path = tmp_path / "long.cast"
    header = {"version": 3, "term": {"cols": 80, "rows": 24}}
    events = [[0.0, "o", DRAWN], [3000.0, "o", "the end"]]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (header, *events)))
    return path


@pytest.mark.parametrize("number", ENDING)
def test_play_that_is_ended_by_a_signal_restores_the_terminal(
    environ: dict[str, str], recording: Path, number: signal.Signals
) -> None:
    with person_tty(environ, "play", str(recording), "--idle-limit", "3600") as tty:
        tty.expect(b"drawn")
        assert not tty.restored
        told = len(tty.seen)
        tty.process.send_signal(number)
        assert tty.ends() == 128 + number
        assert tty.restored
        for undone in (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l"):
            assert undone in tty.seen[told:]
        assert b"Traceback" not in tty.seen


def test_play_at_a_window_that_closes_ends(environ: dict[str, str], recording: Path) -> None:
    tty = PersonTty(environ, "play", str(recording), "--idle-limit", "3600")
    tty.expect(b"drawn")
    os.close(tty.slave)
    os.close(tty.master)
    assert tty.process.wait(PATIENCE) in (0, 129)


def test_watched_list_changes_no_mode_and_ends_by_a_signal(
    environ: dict[str, str], server: Scripted
) -> None:
    server.add("one")
    with person_tty(environ, "list", "--watch") as tty:
        tty.expect(b"PROFILE")
        tty.process.send_signal(signal.SIGTERM)
        assert tty.ends() == -signal.SIGTERM
        assert tty.restored
        assert b"\x1b[?" not in tty.seen


def test_watched_list_outlives_its_server_and_ends_with_its_reader(
    environ: dict[str, str], server: Scripted
) -> None:
    server.add("one")
    process = spawned(environ, "list", "--watch", "--json")
    assert process.stdout is not None and process.stderr is not None
    assert b'"one"' in process.stdout.readline()
    server.drop()
    server.add("two")
    server.events.append({"position": 1, "event_type": "sandbox.ready"})
    assert b'"two"' in process.stdout.readline()
    process.stdout.close()
    server.add("three")
    server.events.append({"position": 2, "event_type": "sandbox.ready"})
    assert process.wait(PATIENCE) == 1
    assert process.stderr.read() == b""
    process.stderr.close()
