"""Programs over the link: pipes, credit, the order of output and end, descriptors, limits."""

import errno
import hashlib
import signal

import pytest

from atoll.wire import init as wire
from atoll.wire.link.frames import WINDOW_BYTES, Kind, Passed, PassedDescriptor
from tests.inside.link.near_end import NULL, TestNearEnd


def test_first_packet_is_ready_and_names_the_doors(near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    reply, passed = near.packets[0]
    assert isinstance(reply, wire.Ready)
    assert reply.listeners == len(passed)
    assert {one.kind for one in passed} == {Passed.LISTENER}


def test_output_and_errors_come_apart_and_end_before_the_exit(near: TestNearEnd) -> None:
    tag, out, err = near.captured("sh", "-c", "echo hello; echo oops >&2; exit 3")
    assert near.exit(tag) == 3
    assert near.data[out] == b"hello\n"
    assert near.data[err] == b"oops\n"
    near.until(lambda: {out, err} <= near.ended)
    assert near.order.index(("DATA", out)) < near.order.index(("Exited", tag))
    assert near.order.index(("Started", tag)) < near.order.index(("Exited", tag))


def test_input_passes_and_its_end_ends_the_program(near: TestNearEnd) -> None:
    into, out = near.channel(), near.channel()
    output = PassedDescriptor(Passed.OUTPUT, out)
    tag = near.run(
        "sh", "-c", "sha256sum", ends=(PassedDescriptor(Passed.INPUT, into), output, output)
    )
    data = bytes(range(256)) * 4096
    near.write(into, data)
    near.send(Kind.EOF, into)
    assert near.exit(tag) == 0
    assert near.data[out].split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_large_output_comes_whole(near: TestNearEnd) -> None:
    tag, out, _ = near.captured("sh", "-c", "seq 1000000")
    assert near.exit(tag) == 0
    near.until(lambda: out in near.ended)
    assert near.data[out] == b"".join(b"%d\n" % one for one in range(1, 1000001))


def test_output_beyond_the_credit_waits_and_so_does_the_exit(near: TestNearEnd) -> None:
    near.pays = False
    tag, out, _ = near.captured("sh", "-c", "head -c 100000 /dev/zero")
    near.until(lambda: near.counts[out] == WINDOW_BYTES)
    near.serve(0.3)
    assert near.counts[out] == WINDOW_BYTES
    assert not near.exits(tag)
    near.pays = True
    near.send(Kind.CREDIT, out, WINDOW_BYTES.to_bytes(4, "little"))
    assert near.exit(tag) == 0
    assert near.counts[out] == 100000


def test_input_that_nobody_reads_is_closed(near: TestNearEnd) -> None:
    into = near.channel()
    tag = near.run("true", ends=(PassedDescriptor(Passed.INPUT, into), NULL, NULL))
    assert near.exit(tag) == 0
    near.send(Kind.DATA, into, b"to nobody")
    near.until(lambda: into in near.closed)


def test_program_that_does_not_read_gets_one_window(near: TestNearEnd) -> None:
    into, out = near.channel(), near.channel()
    ends = (PassedDescriptor(Passed.INPUT, into), PassedDescriptor(Passed.OUTPUT, out), NULL)
    tag = near.run("sh", "-c", "read go; cat | wc -c", ends=ends)
    near.started(tag)
    near.send(Kind.DATA, into, b"x" * 32768)
    near.credit[into] -= 32768
    near.write(into, b"x" * 60000 + b"\n" + b"y" * 200000)
    near.send(Kind.EOF, into)
    assert near.exit(tag) == 0
    assert int(near.data[out]) == 200000


def test_socket_passes_both_ways(near: TestNearEnd) -> None:
    line = near.channel()
    end = PassedDescriptor(Passed.SOCKET, line)
    tag = near.run("cat", ends=(end, end, NULL))
    near.write(line, b"there and back" * 10000)
    near.send(Kind.EOF, line)
    assert near.exit(tag) == 0
    near.until(lambda: line in near.ended)
    assert near.data[line] == b"there and back" * 10000


def test_long_arguments_travel_in_a_memory_file(near: TestNearEnd) -> None:
    word = "x" * 100000
    tag, out, _ = near.captured("printf", "%s", word)
    assert near.exit(tag) == 0
    assert near.data[out].decode() == word


def test_refused_program_is_reported_by_errno(near: TestNearEnd) -> None:
    tag, _, _ = near.captured("no-such-program")
    reply, _ = near.answer(tag)
    assert isinstance(reply, wire.Refused)
    assert (reply.errno, reply.step) == (errno.ENOENT, wire.Step.EXEC)


def test_signal_reaches_a_program_and_is_answered(near: TestNearEnd) -> None:
    tag, _, _ = near.captured("sleep", "100")
    near.started(tag)
    near.request(wire.encode_signal(tag, signal.SIGTERM, tree=False))
    assert near.exit(tag) == -signal.SIGTERM
    near.until(lambda: any(isinstance(reply, wire.Done) for reply, _ in near.packets))


def test_background_child_that_holds_the_output_delays_no_exit(near: TestNearEnd) -> None:
    # The child is slower than its parent's end.
    tag, out, _ = near.captured("sh", "-c", "echo first; (sleep 2; echo second) & exit 0")
    assert near.exit(tag) == 0
    assert near.data[out] == b"first\n"
    near.until(lambda: out in near.ended)
    assert near.data[out] == b"first\nsecond\n"


def test_closed_output_ends_a_writer(near: TestNearEnd) -> None:
    tag, out, _ = near.captured("sh", "-c", "exec yes")
    near.until(lambda: near.counts[out] > 100000)
    near.send(Kind.CLOSE, out)
    assert near.exit(tag) == -signal.SIGPIPE


def test_channels_beyond_the_limit_are_refused(near: TestNearEnd) -> None:
    tags = [near.captured("no-such-program")[0] for _ in range(20)]
    near.until(lambda: near.packets and all(near.answer(tag) for tag in tags))
    for _ in range(550):
        tag, _, _ = near.captured("no-such-program")
        near.answer(tag)
        near.frames.clear()
    # Refused programs end their output, which ends the channels: that is no leak.
    tag, _, _ = near.captured("true")
    assert near.exit(tag) == 0
    near.serve(0.1)
    opened = [near.open(".", 0) for _ in range(1024)]
    with pytest.raises(OSError) as refused:
        near.open(".", 0)
    assert refused.value.errno == errno.EAGAIN
    tag, _, _ = near.captured("true")
    reply, _ = near.answer(tag)
    assert isinstance(reply, wire.Refused)
    assert reply.errno == errno.EAGAIN
    near.send(Kind.CLOSE, opened[0])
    near.send(Kind.CLOSE, opened[1])
    tag, _, _ = near.captured("true")
    assert near.exit(tag) == 0
