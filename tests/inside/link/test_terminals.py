"""Terminals over the link: output, echo modes, sizes, signals, hang-ups."""

import signal

import pytest

from atoll.wire.link.frames import WINDOW_BYTES, Kind, Passed, PassedDescriptor, encode_size
from tests.inside.link.near_end import TestNearEnd


def typed(near: TestNearEnd, channel: int, text: bytes) -> None:
    """Type a few bytes."""
    near.credit[channel] -= len(text)
    near.send(Kind.DATA, channel, text)


def test_terminal_echoes_what_is_typed_and_shows_output(near: TestNearEnd) -> None:
    tag, channel = near.on_terminal("sh", "-c", "read word; echo got-$word; tty")
    near.started(tag)
    typed(near, channel, b"fish\n")
    assert near.exit(tag) == 0
    assert near.data[channel].startswith(b"fish\r\ngot-fish\r\n/dev/pts/")
    assert near.order.index(("DATA", channel)) < near.order.index(("Exited", tag))


def test_size_is_set_at_first_and_changes(near: TestNearEnd) -> None:
    channel = near.terminal(cols=91, rows=17)
    slave = PassedDescriptor(Passed.SLAVE, channel)
    script = "stty size; trap 'stty size; exit' WINCH; echo go; while :; do sleep 0.05; done"
    near.run("sh", "-c", script, ends=(slave, slave, slave), tty=True)
    near.until(lambda: b"17 91\r\ngo" in near.data[channel])
    near.stream.write(encode_size(channel, 132, 43))
    near.until(lambda: b"43 132\r\n" in near.data[channel])


def test_reading_a_line_without_echo_is_reported_before_its_prompt(near: TestNearEnd) -> None:
    script = "stty -echo; echo secret?; read word; stty echo; echo done; read word"
    tag, channel = near.on_terminal("sh", "-c", script)
    near.until(lambda: b"secret?" in near.data[channel])
    assert near.modes[channel] == 1
    assert near.order.index(("MODES", channel)) < near.order.index(("DATA", channel))
    typed(near, channel, b"hidden\n")
    near.until(lambda: b"done" in near.data[channel] and near.modes[channel] == 0)
    assert b"hidden" not in near.data[channel]
    typed(near, channel, b"\n")
    assert near.exit(tag) == 0


def test_interrupt_reaches_the_foreground_and_kill_does_not(near: TestNearEnd) -> None:
    tag, channel = near.on_terminal("sh", "-c", "stty -isig; echo ready; exec sleep 100")
    near.until(lambda: b"ready" in near.data[channel])
    near.send(Kind.SIGNAL, channel, int(signal.SIGKILL).to_bytes(4, "little"))
    near.send(Kind.SIGNAL, channel, (2**32 - 1).to_bytes(4, "little"))
    near.send(Kind.SIGNAL, channel, int(signal.SIGINT).to_bytes(4, "little"))
    assert near.exit(tag) == -signal.SIGINT


def test_hangup_is_reported_and_the_terminal_serves_another_program(near: TestNearEnd) -> None:
    tag, channel = near.on_terminal("echo", "first")
    assert near.exit(tag) == 0
    near.until(lambda: near.hangups[channel] >= 2)
    slave = PassedDescriptor(Passed.SLAVE, channel)
    tag = near.run("echo", "second", ends=(slave, slave, slave), tty=True)
    assert near.exit(tag) == 0
    assert near.data[channel] == b"first\r\nsecond\r\n"


def test_flood_of_a_terminal_waits_for_credit(near: TestNearEnd) -> None:
    near.pays = False
    tag, channel = near.on_terminal("sh", "-c", "stty raw; head -c 300000 /dev/zero")
    near.until(lambda: near.counts[channel] == WINDOW_BYTES)
    near.serve(0.3)
    assert near.counts[channel] == WINDOW_BYTES
    near.pays = True
    near.send(Kind.CREDIT, channel, WINDOW_BYTES.to_bytes(4, "little"))
    assert near.exit(tag) == 0
    assert near.counts[channel] == 300000


def test_large_paste_into_a_terminal_comes_whole(near: TestNearEnd) -> None:
    tag, channel = near.on_terminal("sh", "-c", "stty raw -echo; echo go; head -c 200000 | wc -c")
    near.until(lambda: b"go" in near.data[channel])
    near.write(channel, b"x" * 200000)
    assert near.exit(tag) == 0
    assert near.data[channel].split()[-1] == b"200000"


@pytest.mark.parametrize("program", ["no-such-program", "/etc/passwd"])
def test_terminal_of_a_refused_program_serves_the_next(near: TestNearEnd, program: str) -> None:
    tag, channel = near.on_terminal(program)
    near.answer(tag)
    slave = PassedDescriptor(Passed.SLAVE, channel)
    tag = near.run("echo", "after", ends=(slave, slave, slave), tty=True)
    assert near.exit(tag) == 0
    assert near.data[channel] == b"after\r\n"


def test_closed_terminal_ends_its_program(near: TestNearEnd) -> None:
    tag, channel = near.on_terminal("sleep", "100")
    near.started(tag)
    near.send(Kind.CLOSE, channel)
    assert near.exit(tag) == -signal.SIGHUP
