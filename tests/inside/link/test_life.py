"""The life of a link: proof, cuts, takeover, its end, and who may not take part."""

import os
import random
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress

import pytest

from atoll.wire.link.frames import IPV6, WINDOW_BYTES, Kind, Passed, PassedDescriptor
from atoll.wire.link.handshake import Continuation, Hello, Unproven, encode_answer
from tests.inside.link.conftest import FarEnds
from tests.inside.link.near_end import Refused, TestNearEnd, challenged, connected, exactly

CUTS = 50
NUMBERS = b"".join(b"%d\n" % one for one in range(1, 200_001))


def test_init_that_does_not_come_up_is_said_and_leaves_no_socket(fars: FarEnds) -> None:
    for command, words in (
        (("sh", "-c", "echo no such wall >&2; exit 3"), b"no such wall"),
        (("no-such-program",), b"No such file"),
    ):
        far = fars.begin(*fars.program, "serve", "--socket", str(fars.path), "--", *command)
        assert far.stdout
        assert words in far.stdout.read()
        assert far.wait(20) == 1
        assert not fars.path.exists()


def test_second_link_at_one_socket_is_refused_and_a_stale_socket_is_not(fars: FarEnds) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(os.fspath(fars.path))
    fars.start()
    far = fars.begin(*fars.command())
    assert far.stdout
    assert b"served by another link" in far.stdout.read()
    assert far.wait(20) == 1
    near = fars.near()
    assert near.connect() is Continuation.FRESH


def test_background_link_tells_its_pid_and_ends_with_a_signal(fars: FarEnds) -> None:
    fars.root.mkdir()
    done = subprocess.run(
        fars.command("--daemon"), input=fars.key, capture_output=True, check=True, timeout=30
    )
    word, pid = done.stdout.split()
    assert word == b"ready"
    near = fars.near()
    near.connect()
    tag, _, _ = near.captured("sleep", "1000")
    near.started(tag)
    os.kill(int(pid), signal.SIGTERM)
    near.until(lambda: near.last_words)
    assert near.last_words and near.last_words.startswith("a signal ended the sandbox")


@pytest.mark.parametrize("option", ["serve", "attach", "nothing"])
def test_wrong_words_are_answered_with_the_usage(fars: FarEnds, option: str) -> None:
    done = subprocess.run((*fars.program, option, "--what"), capture_output=True, check=False)
    assert done.returncode == 64
    assert done.stderr.startswith(b"usage: link serve")


def test_stranger_without_the_key_changes_nothing(near: TestNearEnd, fars: FarEnds) -> None:
    # It is at work while the stranger comes.
    tag, out, _ = near.captured("sh", "-c", "sleep 0.5; echo unharmed")
    stranger = fars.near(7, key=os.urandom(32))
    with pytest.raises(Unproven):
        stranger.connect()
    with connected(fars.path) as line:
        # It does not check the far end's proof, and makes one up.
        hello = Hello(7, os.urandom(16))
        challenge = challenged(line, fars.key, hello)
        line.sendall(encode_answer(os.urandom(32), hello, challenge, 0))
        with pytest.raises(Refused):
            exactly(line, 1)
    assert near.exit(tag) == 0
    assert near.data[out] == b"unharmed\n"


def test_recorded_answer_opens_no_second_connection(near: TestNearEnd, fars: FarEnds) -> None:
    with connected(fars.path) as line:
        hello = Hello(9, os.urandom(16))
        challenge = challenged(line, fars.key, hello)
        proof = encode_answer(fars.key, hello, challenge, 0)
    with connected(fars.path) as line:
        challenged(line, fars.key, hello)
        line.sendall(proof)
        with pytest.raises(Refused):
            exactly(line, 1)
    near.serve(0.05)


def test_silent_strangers_make_others_wait_only(fars: FarEnds) -> None:
    fars.start()
    silent = [connected(fars.path) for _ in range(4)]
    near = fars.near()
    began = time.monotonic()
    leaving = threading.Timer(0.3, silent[0].close)
    leaving.start()
    assert near.connect() is Continuation.FRESH
    assert time.monotonic() - began >= 0.3
    leaving.join()
    for line in silent:
        line.close()
    tag, _, _ = near.captured("true")
    assert near.exit(tag) == 0


def test_noise_before_the_hello_is_skipped(fars: FarEnds) -> None:
    fars.start()
    with connected(fars.path) as line:
        line.sendall(b"ATLATL" + os.urandom(70_000).replace(b"ATLK", b"") + b"AT")
        challenged(line, fars.key, Hello(3, os.urandom(16)))


def test_stream_that_is_cut_anywhere_is_whole(near: TestNearEnd) -> None:
    chance = random.Random(os.environ.get("ATOLL_LINK_SEED", "cuts"))
    tag, out, _ = near.captured("sh", "-c", "seq 200000")
    for _ in range(CUTS):
        for _ in range(chance.randrange(4)):
            near.turn(most=chance.choice((1, 3, 17, 1000, 65536)), seconds=0.01)
        assert near.connect() is Continuation.RESUMED
    assert near.exit(tag) == 0
    near.until(lambda: out in near.ended)
    assert near.data[out] == NUMBERS


def test_another_runtime_adopts_terminals_and_sees_the_ends_of_others(fars: FarEnds) -> None:
    fars.start()
    first = fars.near()
    first.connect()
    shell, terminal = first.on_terminal("sh")
    # It ends while no runtime is there.
    piped, _, _ = first.captured("sh", "-c", "sleep 0.3; exit 4")
    first.started(piped)
    pid = first.started(shell).pid
    first.cut()
    second = fars.near(2)
    assert second.connect() is Continuation.TAKEN_OVER
    second.until(lambda: terminal in second.adopted)
    found = second.adopted[terminal]
    assert (found.tag, found.pid, found.cols, found.rows) == (shell, pid, 80, 24)
    second.write(terminal, b"echo $((6*7))\n")
    second.until(lambda: b"42" in second.data[terminal])
    assert second.exit(piped) == 4
    second.write(terminal, b"exit 5\n")
    assert second.exit(shell) == 5
    # Another one is told of that end, too, whoever received it before.
    third = fars.near(3)
    assert third.connect() is Continuation.TAKEN_OVER
    assert third.exit(shell) == 5


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff\xff\xff\xff\x00\x00\x00\x00",
        bytes((Kind.ENDED, 0, 0, 0)) + bytes(4),
        bytes((Kind.PACKET, 1, 0, 0)) + bytes(4) + b"\xff",
        bytes((Kind.CREDIT, 4, 0, 0)) + b"\x01\x00\x00\x00" + b"\xff\xff\xff\xff",
    ],
)
def test_near_end_that_sends_garbage_counts_as_another(near: TestNearEnd, garbage: bytes) -> None:
    out = near.channel()
    assert out == 1
    tag = near.run("sleep", "1000", ends=(NULL_END, PassedDescriptor(Passed.OUTPUT, out), NULL_END))
    near.started(tag)
    near.stream.write(garbage)
    with pytest.raises(Refused):
        near.serve(10)
    again = TestNearEnd(near.path, near.key, near.incarnation)
    assert again.connect() is Continuation.TAKEN_OVER
    tag, _, _ = again.captured("true")
    assert again.exit(tag) == 0
    again.cut()


NULL_END = PassedDescriptor(Passed.NULL)


def test_records_that_mean_nothing_cut_and_lose_nothing(near: TestNearEnd) -> None:
    tag, out, _ = near.captured("seq", "200000")
    for record in (
        b"\x07\x00\x00\x00",
        b"\x02\x03\x00\x00abc",
        b"\x01\xff\xff\xff",
        b"\x03\x01\0\0x",
    ):
        assert near.line
        near.line.setblocking(True)
        near.line.sendall(near.stream.drain() + record)
        near.line.setblocking(False)
        with pytest.raises(Refused):
            near.serve(10)
        assert near.connect() is Continuation.RESUMED
    assert near.exit(tag) == 0
    near.until(lambda: out in near.ended)
    assert near.data[out] == NUMBERS


def test_output_comes_before_the_last_word_although_nobody_took_it(near: TestNearEnd) -> None:
    near.pays = False
    script = "head -c 100000 /dev/zero; echo written >&2; sleep 1000"
    tag, out, err = near.captured("sh", "-c", script)
    near.until(lambda: near.data[err] and near.counts[out] == WINDOW_BYTES)
    near.send(Kind.END, 0)
    near.serve(0.3)
    assert near.last_words is None
    near.send(Kind.CREDIT, out, WINDOW_BYTES.to_bytes(4, "little"))
    near.until(lambda: near.last_words)
    assert near.counts[out] == 100000
    assert out in near.ended
    assert near.order.index(("EOF", out)) < near.order.index(("ENDED", 0))
    assert near.last_words and "near end ended" in near.last_words
    assert not near.exits(tag)
    with suppress(Refused):
        near.turn()


def test_sandbox_ends_when_nobody_comes_for_its_grace(fars: FarEnds) -> None:
    fars.grace = 0.5
    far = fars.start()
    near = fars.near()
    near.connect()
    tag, _, _ = near.captured("sleep", "1000")
    near.started(tag)
    near.cut()
    assert far.wait(20) == 0
    assert not fars.path.exists()


def test_end_of_init_is_told(near: TestNearEnd, fars: FarEnds) -> None:
    near.until(lambda: near.packets)
    near.send(Kind.END, 0)
    near.until(lambda: near.last_words)
    assert near.last_words == "the near end ended the sandbox (exit code 0)"
    with suppress(Refused):
        near.turn()
    assert fars.running[0].wait(20) == 0


def test_connection_to_a_door_waits_for_a_near_end(fars: FarEnds) -> None:
    fars.start()
    with socket.create_connection(("127.0.0.1", fars.doors[0])) as inside:
        inside.sendall(b"question")
        near = fars.near()
        near.connect()
        near.until(lambda: near.accepted)
        ((channel, door),) = near.accepted.items()
        assert door & ~IPV6 == fars.doors[0]
        near.until(lambda: near.data[channel] == b"question")
        near.write(channel, b"answer")
        near.send(Kind.EOF, channel)
        near.serve(0.1)
        inside.settimeout(20)
        assert inside.recv(100) == b"answer"
        assert inside.recv(100) == b""
        near.send(Kind.CLOSE, channel)
        near.serve(0.05)


def test_programs_have_no_descriptor_of_the_link(near: TestNearEnd) -> None:
    tag, out, _ = near.captured("sh", "-c", "exec ls /proc/self/fd")
    assert near.exit(tag) == 0
    # Its three, and the directory that it reads.
    assert near.data[out].split() == [b"0", b"1", b"2", b"3"]
