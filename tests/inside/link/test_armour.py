"""`armour` on a real terminal: the program runs a command for a near end."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from atoll.wire.link.armour import ArmouredEnd, ArmourKind, exit_code, start
from tests.inside.link.conftest import PROGRAMS

SECONDS = 60


@dataclass
class Armoured:
    """A program on a terminal, and a near end of it."""

    process: "subprocess.Popen[bytes]"
    terminal: int
    end: ArmouredEnd = field(default_factory=lambda: ArmouredEnd(is_far=False))
    frames: list[tuple[ArmourKind, bytes]] = field(default_factory=list)
    sending: bytes = b""
    takes: bool = True

    def of(self, kind: ArmourKind) -> bytes:
        """Return all that came of a kind."""
        return b"".join(payload for one, payload in self.frames if one is kind)

    def until(self, seen: Callable[[], object]) -> None:
        """Pass bytes until something was seen."""
        deadline = time.monotonic() + SECONDS
        while not seen():
            assert time.monotonic() < deadline, self.frames[-3:]
            self._turn()

    def begin(self, *words: str) -> None:
        """Send a command once the program is there."""
        self.until(lambda: self.frames)
        self.sending += start(self.end, words)

    def give(self, data: bytes) -> None:
        """Send input, and its end."""
        while data:
            self.until(lambda: self.end.room)
            sent = data[: self.end.room]
            self.sending += self.end.data(ArmourKind.INPUT, sent)
            data = data[len(sent) :]
        self.sending += self.end.frame(ArmourKind.END)

    def code(self) -> int:
        """Wait for the end; return the exit code."""
        self.until(lambda: self.of(ArmourKind.EXIT))
        assert self.process.wait(SECONDS) == 0
        return exit_code(self.of(ArmourKind.EXIT))

    def _turn(self) -> None:
        writable = [self.terminal] if self.sending else []
        reads, writes, _ = select.select([self.terminal], writable, [], 0.2)
        if writes:
            self.sending = self.sending[os.write(self.terminal, self.sending[:4096]) :]
        if reads:
            for kind, payload in self.end.feed(os.read(self.terminal, 65536)):
                self.frames.append((kind, payload))
                if self.takes and kind in (ArmourKind.OUTPUT, ArmourKind.COMPLAINT):
                    self.sending += self.end.took(len(payload))


@pytest.fixture(params=PROGRAMS)
def armoured(request: pytest.FixtureRequest) -> Iterator[Armoured]:
    ours, theirs = pty.openpty()
    program = (*request.param, "armour")
    # Where whoever started it ignores HUP, its command ends all the same.
    process = subprocess.Popen(
        ("sh", "-c", 'trap "" HUP; exec "$@"', "sh", *program),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    yield Armoured(process, ours)
    with suppress(OSError):
        os.close(ours)
    process.kill()
    process.wait(SECONDS)


def test_every_byte_goes_in_and_comes_out(armoured: Armoured) -> None:
    armoured.begin("cat")
    data = bytes(range(256)) * 4000
    armoured.give(data)
    assert armoured.code() == 0
    assert armoured.of(ArmourKind.OUTPUT) == data


def test_output_complaint_and_code_are_apart(armoured: Armoured) -> None:
    armoured.begin("sh", "-c", 'printf "$1"; printf bad >&2; exit 7', "sh", "out $x\\n")
    armoured.give(b"")
    assert armoured.code() == 7
    assert armoured.of(ArmourKind.OUTPUT) == b"out $x\n"
    assert armoured.of(ArmourKind.COMPLAINT) == b"bad"


def test_command_that_is_not_there_says_so(armoured: Armoured) -> None:
    armoured.begin("/nowhere/to/be/found")
    assert armoured.code() == 127
    assert b"/nowhere/to/be/found: No such file" in armoured.of(ArmourKind.COMPLAINT)


def test_command_that_a_signal_ends_has_a_negative_code(armoured: Armoured) -> None:
    armoured.begin("sh", "-c", "kill -9 $$")
    assert armoured.code() == -9


def test_input_that_nobody_reads_is_taken_all_the_same(armoured: Armoured) -> None:
    armoured.begin("sh", "-c", "exec <&-; echo $$; exec sleep 1000")
    armoured.until(lambda: armoured.of(ArmourKind.OUTPUT))
    armoured.give(b"x" * 1_000_000)
    armoured.until(lambda: not armoured.sending)
    os.kill(int(armoured.of(ArmourKind.OUTPUT)), signal.SIGTERM)
    assert armoured.code() == -signal.SIGTERM


def test_flood_waits_for_credit(armoured: Armoured) -> None:
    armoured.takes = False
    armoured.begin("sh", "-c", "head -c 3000000 /dev/zero")
    armoured.until(lambda: len(armoured.of(ArmourKind.OUTPUT)) == 256 * 1024)
    assert not armoured.of(ArmourKind.EXIT)
    armoured.takes = True
    armoured.sending += armoured.end.took(256 * 1024)
    assert armoured.code() == 0
    assert len(armoured.of(ArmourKind.OUTPUT)) == 3_000_000


@pytest.mark.parametrize("line", [b"hello\n", b"~AAAA\n", b"~\n", b"~~\xff\n", b"\0" * 20000])
def test_line_that_is_no_armour_ends_the_command(armoured: Armoured, line: bytes) -> None:
    armoured.begin("sh", "-c", "echo $$; exec sleep 1000")
    armoured.until(lambda: armoured.of(ArmourKind.OUTPUT))
    pid = int(armoured.of(ArmourKind.OUTPUT))
    armoured.sending += line
    with suppress(OSError):  # it may end before it was sent all of it
        armoured.until(lambda: not armoured.sending)
    assert armoured.process.wait(SECONDS) == 1
    _gone(pid)


def test_terminal_that_is_closed_ends_the_command(armoured: Armoured) -> None:
    armoured.begin("sh", "-c", "echo $$; exec sleep 1000")
    armoured.until(lambda: armoured.of(ArmourKind.OUTPUT))
    pid = int(armoured.of(ArmourKind.OUTPUT))
    os.close(armoured.terminal)
    # Its terminal's end sends it HUP, or it sees the end.
    assert armoured.process.wait(SECONDS) in (1, -signal.SIGHUP)
    _gone(pid)


@pytest.mark.parametrize("kind", [ArmourKind.INPUT, ArmourKind.END])
def test_input_before_a_command_is_an_error(armoured: Armoured, kind: ArmourKind) -> None:
    armoured.until(lambda: armoured.frames)
    armoured.sending += armoured.end.frame(kind, b"")
    armoured.until(lambda: not armoured.sending)
    assert armoured.process.wait(SECONDS) == 1


def test_second_command_is_an_error(armoured: Armoured) -> None:
    armoured.begin("cat")
    armoured.begin("cat")
    armoured.until(lambda: not armoured.sending)
    assert armoured.process.wait(SECONDS) == 1


def _gone(pid: int) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        # An ended orphan stays a zombie where whoever adopted it does not look: that is no process.
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        select.select([], [], [], 0.01)
    raise AssertionError(f"{pid} runs on")
