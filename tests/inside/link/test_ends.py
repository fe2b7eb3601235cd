"""The life of a far end: its start, the end of init, TERM, grace, doors, and what is left."""

import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from unittest.mock import patch

import pytest

from atoll.inside.program import init_argv
from atoll.wire.link.frames import WINDOW_BYTES, Kind
from tests.claims import free_port
from tests.inside.architectures import own_init
from tests.inside.link.conftest import FarEnds
from tests.inside.link.near_end import TestNearEnd, connected


def status(pid: int, name: str) -> int:
    """Return a number of a process's status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def init_of(far: "subprocess.Popen[bytes]") -> int:
    """Return the pid of a far end's init."""
    return int(Path(f"/proc/{far.pid}/task/{far.pid}/children").read_text().split()[0])


def ran(fars: FarEnds, *words: str, key: bytes = b"k" * 32) -> "subprocess.CompletedProcess[bytes]":
    """Run the program to its end."""
    argv = (*fars.program, *words)
    return subprocess.run(argv, input=key, capture_output=True, timeout=60, check=False)


def test_end_of_init_sends_the_rest_of_the_output_first(fars: FarEnds) -> None:
    far = fars.start()
    near = fars.near()
    near.connect()
    near.pays = False
    done = fars.root / "done"
    _, out, _ = near.captured("sh", "-c", f"head -c {2 * WINDOW_BYTES} /dev/zero; echo >{done}")
    near.until(lambda: near.counts[out] == WINDOW_BYTES and done.exists())
    os.kill(init_of(far), signal.SIGKILL)
    near.pays = True
    near.send(Kind.CREDIT, out, WINDOW_BYTES.to_bytes(4, "little"))
    near.until(lambda: near.last_words)
    assert near.counts[out] == 2 * WINDOW_BYTES
    assert near.order.index(("EOF", out)) < near.order.index(("ENDED", 0))
    assert near.last_words == "the sandbox's init ended (signal 9)"
    assert far.wait(10) == 0
    assert not fars.path.exists()


def test_end_of_init_waits_for_no_credit_forever(fars: FarEnds) -> None:
    far = fars.start()
    near = fars.near()
    near.connect()
    near.pays = False
    _, out, _ = near.captured("sh", "-c", "exec yes")
    near.until(lambda: near.counts[out] == WINDOW_BYTES)
    os.kill(init_of(far), signal.SIGKILL)
    near.until(lambda: near.last_words)
    assert far.wait(20) == 0


def test_request_to_end_ends_everything_inside(fars: FarEnds) -> None:
    far = fars.start()
    near = fars.near()
    near.connect()
    tag, _, _ = near.captured("sleep", "1000")
    pid = near.started(tag).pid
    near.send(Kind.END, 0)
    near.until(lambda: near.last_words)
    assert near.last_words.startswith("the near end ended the sandbox (") if near.last_words else 0
    assert far.wait(10) == 0
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("was_there", [False, True])
def test_term_without_a_near_end_ends_at_once(fars: FarEnds, was_there: bool) -> None:
    far = fars.start()
    if was_there:
        near = fars.near()
        near.connect()
        near.until(lambda: near.packets)
        near.cut()
    far.terminate()
    assert far.wait(3) == 0
    assert not fars.path.exists()


def test_term_with_a_near_end_says_why(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    fars.running[0].terminate()
    near.until(lambda: near.last_words)
    assert (near.last_words or "").startswith("a signal ended the sandbox")
    assert fars.running[0].wait(10) == 0


def test_grace_ends_a_sandbox_that_nobody_comes_for(fars: FarEnds) -> None:
    fars.grace = 0.5
    far = fars.start()
    assert far.wait(10) == 0
    assert not fars.path.exists()


def test_failed_init_leaves_its_reason_and_no_socket(fars: FarEnds) -> None:
    done = ran(fars, "serve", "--socket", str(fars.path), "--", "sh", "-c", "echo broken >&2")
    assert done.returncode == 1
    assert done.stdout == b"init ended before it said READY: broken\n"
    assert not fars.path.exists()
    done = ran(fars, "serve", "--daemon", "--socket", str(fars.path), "--", "no-such-program")
    assert done.returncode == 1
    assert done.stdout.startswith(b"init ended before it said READY: no-such-program: No such")
    assert not fars.path.exists()


def test_taken_door_is_named(fars: FarEnds) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        fars.root.mkdir(exist_ok=True)
        port = taken.getsockname()[1]
        init = init_argv(own_init(), doors=(port,), root=str(fars.root))
        done = ran(fars, "serve", "--socket", str(fars.path), "--", *init)
    assert done.returncode == 1
    # musl, which the emulated one is built with, has words of its own.
    because = re.sub(rb"Address (already )?in use", b"taken", done.stdout)
    assert because == b"init could not bind its doors: taken\n"


def test_second_link_at_a_socket_is_refused_and_harms_nothing(
    fars: FarEnds, near: TestNearEnd
) -> None:
    near.until(lambda: near.packets)
    done = ran(fars, "serve", "--socket", str(fars.path), "--", "true")
    assert (done.returncode, done.stdout) == (
        1,
        f"{fars.path} is served by another link\n".encode(),
    )
    tag, _, _ = near.captured("true")
    assert near.exit(tag) == 0


def test_key_that_is_too_short_is_refused(fars: FarEnds) -> None:
    done = ran(fars, "serve", "--socket", str(fars.path), "--", "true", key=b"k" * 31)
    assert (done.returncode, done.stdout) == (1, b"no key of 32 bytes came on standard input\n")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("serve",),
        ("other", "--socket", "x"),
        ("serve", "--socket"),
        ("serve", "--socket", "x"),
        ("serve", "--socket", "x", "--"),
        ("serve", "--socket", "x", "--device", "y", "--", "true"),
        ("serve", "--grace", "soon", "--socket", "x", "--", "true"),
        ("attach",),
        ("attach", "--socket", "x", "--", "true"),
    ],
)
def test_wrong_words_show_the_usage(fars: FarEnds, words: tuple[str, ...]) -> None:
    done = ran(fars, *words)
    assert done.returncode == 64
    assert done.stderr.startswith(b"usage: link serve")


def test_daemon_goes_on_after_its_parent(fars: FarEnds) -> None:
    fars.root.mkdir()
    done = ran(fars, *fars.command("--grace", "30", "--daemon")[len(fars.program) :], key=fars.key)
    ready, pid = done.stdout.split()
    assert (done.returncode, ready) == (0, b"ready")
    try:
        near = fars.near()
        near.connect()
        tag, _, _ = near.captured("true")
        assert near.exit(tag) == 0
        assert os.getsid(int(pid)) == int(pid)
    finally:
        os.kill(int(pid), signal.SIGTERM)
    near.until(lambda: near.last_words)


def test_key_is_locked_and_the_process_shows_nothing(fars: FarEnds) -> None:
    far = fars.start()
    assert status(far.pid, "VmLck") > 0
    assert Path(f"/proc/{far.pid}/environ").stat().st_uid == 0
    assert fars.path.stat().st_mode & 0o777 == 0o600


def test_attach_joins_the_stream_and_reports_nobody(fars: FarEnds) -> None:
    done = ran(fars, "attach", "--socket", str(fars.path))
    assert done.returncode == 69
    fars.start()
    ours, theirs = socket.socketpair()
    words = (*fars.program, "attach", "--socket", str(fars.path))
    with subprocess.Popen(words, stdin=theirs.fileno(), stdout=theirs.fileno()) as attached:
        theirs.close()
        near = fars.near()
        name = fars.folder / "relay.sock"
        with socket.socket(socket.AF_UNIX) as relay:
            relay.bind(os.fspath(name))
            relay.listen()
            near.path = name
            serve_relay(relay, ours, near)
        near.cut()
        ours.close()
        assert attached.wait(10) == 0


def serve_relay(relay: socket.socket, ours: socket.socket, near: TestNearEnd) -> None:
    """Give a near end the line to `attach` in place of a connection of its own."""
    with patch("tests.inside.link.near_end.connected", lambda _path: ours):
        ours.settimeout(30)
        near.connect()
    tag, out, _ = near.captured("seq", "100000")
    assert near.exit(tag) == 0
    assert near.counts[out] == sum(len(str(one)) + 1 for one in range(1, 100001))


def test_door_passes_both_ways_and_its_port_is_named(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    with socket.create_connection(("127.0.0.1", fars.doors[0])) as inside:
        near.until(lambda: near.accepted)
        ((channel, door),) = near.accepted.items()
        assert (channel >= 2**31, door) == (True, fars.doors[0])
        inside.sendall(b"question")
        near.until(lambda: near.data[channel] == b"question")
        near.write(channel, b"answer")
        near.send(Kind.EOF, channel)
        near.until(lambda: True)
        near.turn()
        inside.settimeout(10)
        assert inside.makefile("rb").read() == b"answer"
        inside.shutdown(socket.SHUT_WR)
        near.until(lambda: channel in near.ended)


def test_connection_to_a_door_waits_for_the_near_end(fars: FarEnds, near: TestNearEnd) -> None:
    near.until(lambda: near.packets)
    near.cut()
    with socket.create_connection(("127.0.0.1", fars.doors[0])) as inside:
        inside.sendall(b"early")
        near.connect()
        near.until(lambda: near.accepted)
        (channel,) = near.accepted
        near.until(lambda: near.data[channel] == b"early")


def test_stale_socket_is_replaced(fars: FarEnds) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(os.fspath(fars.path))
    fars.doors = (free_port(),)
    fars.start()
    connected(fars.path).close()
