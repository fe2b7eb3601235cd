"""`atoll attach` under a real pty, against a scripted control plane."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli.scripted import Scripted, digest

PATIENCE = 90.0


class PersonTty:
    """The person's side: a pty whose master a test reads and types at."""

    def __init__(
        self, environ: dict[str, str], *arguments: str, before: tuple[str, ...] = ()
    ) -> None:
        self.master, self.slave = pty.openpty()
        self.resize(100, 30)
        self.before = termios.tcgetattr(self.slave)
        self.seen = bytearray()
        self.process = subprocess.Popen(
            [*before, sys.executable, "-m", "atoll.wiring.command", *arguments],
            env={**os.environ, **environ, "TERM": "xterm-256color"},
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def read_until(self, done: Callable[[bytes], bool], what: str) -> bytes:
        deadline = time.monotonic() + PATIENCE
        while not done(bytes(self.seen)):
            assert time.monotonic() < deadline, f"no {what} in {bytes(self.seen)[-500:]!r}"
            if select.select([self.master], [], [], 0.2)[0]:
                self.seen += os.read(self.master, 65536)
        return bytes(self.seen)

    def expect(self, text: bytes, *, since: int = 0) -> bytes:
        """Read until `text` is there; with `since`, behind so many bytes that were seen."""
        return self.read_until(lambda seen: text in seen[since:], repr(text))

    def ends(self) -> int:
        """Its exit code, reading along so that it never blocks on us."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"still runs after {bytes(self.seen)[-300:]!r}"
            if select.select([self.master], [], [], 0.05)[0]:
                self.seen += os.read(self.master, 65536)
        while select.select([self.master], [], [], 0.05)[0]:
            self.seen += os.read(self.master, 65536)
        return self.process.returncode

    @property
    def restored(self) -> bool:
        return termios.tcgetattr(self.slave) == self.before


@contextmanager
def person_tty(
    environ: dict[str, str], *arguments: str, before: tuple[str, ...] = ()
) -> Iterator[PersonTty]:
    """Somebody at a tty; `before` are words put before the command, to run it elsewhere."""
    tty = PersonTty(environ, *arguments, before=before)
    try:
        yield tty
    finally:
        if tty.process.poll() is None:
            tty.process.kill()
        tty.process.wait()
        os.close(tty.master)
        os.close(tty.slave)


@pytest.fixture
def attached_tty(server: Scripted, environ: dict[str, str]) -> Iterator[PersonTty]:
    """Attached to a sandbox, first frame shown."""
    server.add("box")
    with person_tty(environ, "attach", "box") as tty:
        server.tape.attached.get(timeout=PATIENCE)
        server.print(b"welcome\r\n")
        tty.expect(b"welcome")
        yield tty


def frame(server: Scripted, kind: str) -> dict[str, Any]:
    while True:
        found = server.tape.frames.get(timeout=PATIENCE)
        if found["type"] == kind:
            return found


def test_attach_opens_a_terminal_of_the_agent_at_our_size(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box", agent="codex")
    with person_tty(environ, "attach", "box") as tty:
        query = server.tape.attached.get(timeout=PATIENCE)
        tty.type(b"\x1c")
        assert tty.ends() == 0
    assert server.terminals[0]["agent"] == "codex"
    assert (server.terminals[0]["cols"], server.terminals[0]["rows"]) == (100, 30)
    assert (query["cols"], query["rows"]) == ("100", "30")
    assert query["client"].startswith("cli-")


def test_attach_to_a_stopped_sandbox_starts_it(server: Scripted, environ: dict[str, str]) -> None:
    server.add("box", state="stopped")
    with person_tty(environ, "attach", "box") as tty:
        server.tape.attached.get(timeout=PATIENCE)
        tty.type(b"\x1c")
        assert tty.ends() == 0
    assert server.requests("POST", "/v1/sandboxes/sb_box/start")


def test_attach_takes_the_running_terminal_and_last_the_last_sandbox(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box")
    server.add("other")
    server.terminals = [
        {"terminal_id": "t_old", "state": "exited", "started_at": "2026-03"},
        {"terminal_id": "t_now", "state": "running", "started_at": "2026-02"},
    ]
    for arguments in (("box",), ("--last",)):
        with person_tty(environ, "attach", *arguments) as tty:
            server.tape.attached.get(timeout=PATIENCE)
            tty.type(b"\x1c")
            assert tty.ends() == 0
    assert len(server.requests("GET", "/v1/sandboxes/sb_box/terminals/t_now/attach")) == 2


def test_typing_passes_every_byte_raw(server: Scripted, attached_tty: PersonTty) -> None:
    typed = b"ls\r\x03\x04\x1a\x11\x13\x1b[A\x1b[<0;3;4M\x1b[200~a\x1cb\x1b[201~\xc3\xa9\x7f"
    attached_tty.type(typed)
    got = b""
    while len(got) < len(typed):
        got += server.tape.keys.get(timeout=PATIENCE)
    assert got == typed
    attached_tty.type(b"\x1c")
    assert attached_tty.ends() == 0


def test_keys_typed_ahead_of_the_first_connection_arrive(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box")
    server.tape.refuse = 503
    with person_tty(environ, "attach", "box") as tty:
        tty.expect(b"reconnecting")
        tty.type(b"early")
        tty.type(b"er\r")
        server.tape.refuse = 0
        got = b""
        while len(got) < 8:
            got += server.tape.keys.get(timeout=PATIENCE)
        tty.type(b"\x1c")
        assert tty.ends() == 0
    assert got == b"earlyer\r"


def test_detach_restores_the_terminal_and_says_how_to_return(
    server: Scripted, attached_tty: PersonTty
) -> None:
    assert not attached_tty.restored
    server.print(b"\x1b[?1049h\x1b[?1002;1006h\x1b[?2004h\x1b[?25l\x1b[>1u\x1b[31mred")
    attached_tty.expect(b"red")
    attached_tty.seen.clear()
    attached_tty.type(b"\x1c")
    assert attached_tty.ends() == 0
    for undone in (b"?1049l", b"?1002l", b"?1006l", b"?2004l", b"?25h", b"\x1b[<1u", b"\x1b[0m"):
        assert undone in attached_tty.seen, undone
    assert b"atoll attach box" in attached_tty.seen
    assert attached_tty.restored


def test_detach_key_in_kitty_encoding_is_known(server: Scripted, attached_tty: PersonTty) -> None:
    attached_tty.type(b"x\x1b[92;5uy")
    assert attached_tty.ends() == 0
    assert server.tape.keys.get(timeout=PATIENCE) == b"x"


def test_detach_keys_can_be_a_sequence(server: Scripted, environ: dict[str, str]) -> None:
    server.add("box")
    with person_tty(environ, "attach", "box", "--detach-keys", "ctrl-p,ctrl-q") as tty:
        server.tape.attached.get(timeout=PATIENCE)
        server.print(b"here")
        tty.expect(b"here")
        tty.type(b"\x1c\x10a")
        got = b""
        while len(got) < 3:
            got += server.tape.keys.get(timeout=PATIENCE)
        assert got == b"\x1c\x10a"
        tty.type(b"\x10\x11")
        assert tty.ends() == 0


def test_resize_of_the_window_is_sent(server: Scripted, attached_tty: PersonTty) -> None:
    attached_tty.resize(132, 50)
    assert frame(server, "resize") == {"type": "resize", "cols": 132, "rows": 50}


def test_output_is_acknowledged_after_it_was_shown(
    server: Scripted, attached_tty: PersonTty
) -> None:
    assert frame(server, "ack") == {"type": "ack", "offset": len(b"welcome\r\n")}
    more = b"y" * 100_000
    server.print(more)
    attached_tty.read_until(lambda seen: seen.count(b"y") == len(more), "all of it")
    acked = frame(server, "ack")
    while acked["offset"] < len(server.tape.output):
        acked = frame(server, "ack")


def test_dropped_line_is_resumed_byte_exact_with_the_same_client(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box")
    lines = b"".join(b"%07d \xe2\x9c\x93\r\n" % n for n in range(30_000))
    cut = [len(lines) // 3, len(lines) // 2 + 9]  # the second inside a character
    with person_tty(environ, "attach", "box") as tty:
        first = server.tape.attached.get(timeout=PATIENCE)
        server.print(lines[: cut[0]])
        tty.expect(lines[cut[0] - 20 : cut[0]])
        server.drop()
        server.tape.output += lines[cut[0] : cut[1]]
        second = server.tape.attached.get(timeout=PATIENCE)
        tty.expect(lines[cut[1] - 20 : cut[1] - 1])  # half a character is not shown
        server.drop()
        server.tape.output += lines[cut[1] :]
        server.tape.attached.get(timeout=PATIENCE)
        tty.expect(lines[-20:])
        tty.type(b"\x1c")
        assert tty.ends() == 0
    assert second["client"] == first["client"]
    assert (first.get("since"), second["since"]) == (None, str(cut[0]))
    seen = bytes(tty.seen)
    assert b"reconnecting" in seen
    start = seen.index(b"0000000 ")
    end = seen.index(lines[-20:]) + 20
    # What Atoll drew itself lies between save and restore cursor, or is the title.
    shown = re.sub(rb"\x1b7.*?\x1b8", b"", seen[start:end])
    assert digest(shown) == digest(lines)


def test_keys_while_the_line_is_down_are_refused_with_a_bell(
    server: Scripted, attached_tty: PersonTty
) -> None:
    server.tape.refuse = 503
    server.drop()
    attached_tty.expect(b"reconnecting")
    attached_tty.seen.clear()
    attached_tty.type(b"lost")
    attached_tty.expect(b"\a")
    attached_tty.type(b"\x1c")
    assert attached_tty.ends() == 0
    assert server.tape.typed == b""
    assert attached_tty.restored


def test_sandbox_stopped_meanwhile_ends_with_its_reason(
    server: Scripted, attached_tty: PersonTty
) -> None:
    server.sandboxes["box"].update(state="failed", reason="the runtime died")
    server.tape.refuse = 503
    server.drop()
    assert attached_tty.ends() == 4
    assert b"box is failed: the runtime died" in attached_tty.seen
    assert attached_tty.restored


def test_resync_clears_and_goes_on_at_the_new_offset(
    server: Scripted, attached_tty: PersonTty
) -> None:
    attached_tty.seen.clear()
    server.send({"type": "resync", "from": 9, "to": 5000, "preamble": "G2MbWz8yMDA0aA=="})
    server.print(b"after")
    attached_tty.expect(b"after")
    assert b"\x1b[H\x1b[2J" in attached_tty.seen
    assert b"\x1b[?2004hafter" in attached_tty.seen
    assert b"\x1bc" not in attached_tty.seen
    while frame(server, "ack")["offset"] != 5005:
        pass


@pytest.mark.parametrize(
    ("end", "code"),
    [({"code": 7}, 7), ({"code": 0}, 0), ({"signal": "TERM"}, 143), ({"signal": "9"}, 137)],
)
def test_end_of_the_program_becomes_the_exit_code(
    server: Scripted, attached_tty: PersonTty, end: dict[str, Any], code: int
) -> None:
    server.send({"type": "exit", "offset": 9, **end}, close=1000)
    assert attached_tty.ends() == code
    assert attached_tty.restored


@pytest.mark.parametrize(
    ("close", "code", "said"), [(4000, 4, b"took over"), (4404, 3, b"gone"), (1000, 3, b"closed")]
)
def test_close_that_is_final_is_not_fought(
    server: Scripted, attached_tty: PersonTty, close: int, code: int, said: bytes
) -> None:
    server.send({"type": "heartbeat"}, close=close)
    assert attached_tty.ends() == code
    assert said in attached_tty.seen


def test_terminal_that_is_gone_after_a_broken_line_ends_the_session(
    server: Scripted, attached_tty: PersonTty
) -> None:
    server.tape.refuse = 404
    server.drop()
    assert attached_tty.ends() == 3
    assert b"the terminal of box is gone" in attached_tty.seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_signal_restores_the_terminal(attached_tty: PersonTty, number: signal.Signals) -> None:
    assert not attached_tty.restored
    attached_tty.process.send_signal(number)
    assert attached_tty.ends() == 128 + number
    assert attached_tty.restored


def test_hang_up_ends_the_session(server: Scripted, environ: dict[str, str]) -> None:
    server.add("box")
    tty = PersonTty(environ, "attach", "box")
    server.tape.attached.get(timeout=PATIENCE)
    os.close(tty.slave)
    os.close(tty.master)
    assert tty.process.wait(PATIENCE) in (0, 129)


def test_crash_restores_the_terminal(server: Scripted, attached_tty: PersonTty) -> None:
    server.send({"type": ["not", "text"]})
    assert attached_tty.ends() == 1
    assert attached_tty.restored
    assert b"Traceback" not in attached_tty.seen


def test_new_ends_attached_and_tells_the_detach_key(
    server: Scripted, environ: dict[str, str]
) -> None:
    with person_tty(environ, "new", "--name", "box") as tty:
        server.tape.attached.get(timeout=PATIENCE)
        tty.expect(b"detach with ctrl-\\")
        tty.type(b"\x1c")
        assert tty.ends() == 0
    remembered = json.loads((Path(environ["ATOLL_HOME"]) / "cli.json").read_text())
    assert remembered["last"] == "sb_box"


def test_attach_without_a_terminal_is_a_usage_error(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("box")
    done = subprocess.run(
        [sys.executable, "-m", "atoll.wiring.command", "attach", "box"],
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2
    assert b"needs a terminal" in done.stderr
