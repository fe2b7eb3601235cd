"""Whatever is sent, a server answers with a status or ends with a sentence; it never crashes."""

import os
import random
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bounds import examples
from tests.inside.sftp.client import (
    CREATES,
    READS,
    WRITES,
    Ask,
    Fields,
    Reply,
    SftpClient,
    Status,
    attributes,
    long,
    number,
    raises,
    text,
)
from tests.inside.sftp.conftest import Server

USUAL_EXAMPLES = 40
UNSAFE = 67
HANDLES = [number(8) + number(at) + number(serial) for at in (0, 1, 255, 256) for serial in (1, 2)]
PATHS = [b"", b".", b"file", b"folder", b"folder/x", b"..", b"/", b"link", b"\xff", b"a" * 5000]
PATHS += [b"a/" * 2000, b"x\0y", b"/tmp", b"../" * 1000]


def ends(server: Server, data: bytes) -> tuple[int, bytes, bytes]:
    """Send bytes as they are; return exit code, answers and complaint."""
    client = SftpClient(server(), greets=False)
    answers, complaint = client.process.communicate(data, timeout=60)
    return client.process.returncode, answers, complaint


@pytest.mark.parametrize(
    "data",
    [
        number(0),
        number((256 << 10) + 1025) + b"\x01",
        number(0xFFFFFFFF) + b"\x01",
        text(bytes([Ask.OPEN]) + number(1) + text(b"x") + number(1) + number(0)),
        text(b"\x01" + number(3)) + text(bytes([Ask.READ]) + b"\0\0"),
        text(b"\x01" + number(3)) + text(bytes([Ask.STAT])),
        b"SSH-2.0-client\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_nonsense_ends_the_server_with_a_sentence(server: Server, data: bytes) -> None:
    code, _, complaint = ends(server, data)
    assert code == UNSAFE
    assert complaint.startswith(b"0 ") and complaint.count(b"\n") == 1


@pytest.mark.parametrize("cut", range(9))
def test_end_within_a_message_is_an_end(server: Server, cut: int) -> None:
    assert ends(server, text(b"\x01" + number(3))[:cut])[0] == 0


def test_end_is_heard_and_nobody_need_listen(server: Server) -> None:
    assert ends(server, b"") == (0, b"", b"")
    client = SftpClient(server())
    client.output.close()
    client.send(bytes([Ask.STAT]) + number(1) + text(b"."))
    client.input.close()
    with client.process as process:
        assert process.wait(60) == 0


def test_pipes_that_never_wait_are_waited_for(server: Server, work: Path) -> None:
    """A parent may have given away descriptors that answer EAGAIN."""
    data = os.urandom(1 << 20)
    (work / "file").write_bytes(data)
    opens = text(bytes([Ask.OPEN]) + number(1) + text(b"file") + number(READS) + number(0))
    reads = [
        text(bytes([Ask.READ]) + number(at) + HANDLES[0] + long(at) + number(1 << 18))
        for at in range(0, len(data), 1 << 18)
    ]
    mine, theirs = socket.socketpair()
    with mine, theirs:
        theirs.setblocking(False)
        end = theirs.fileno()
        with subprocess.Popen(server(), stdin=end, stdout=end) as process:
            theirs.close()
            mine.sendall(text(b"\x01" + number(3)) + opens + b"".join(reads))
            mine.shutdown(socket.SHUT_WR)
            with mine.makefile("rb") as output:
                answers = Fields(output.read())
            assert process.wait(60) == 0
    assert [answers.text()[0] for _ in range(2)] == [Reply.VERSION, Reply.HANDLE]
    assert b"".join(answers.text()[9:] for _ in reads) == data and not answers.data


def test_unknown_requests_are_told_apart(sftp: SftpClient) -> None:
    for kind in (0, 2, 21, 99, 101, 105, 199, 201, 255):
        with raises(Status.OP_UNSUPPORTED):
            sftp.ask(kind, b"anything")
    with raises(Status.OP_UNSUPPORTED):
        sftp.extended(b"limits@openssh.com\0")
    with raises(Status.OP_UNSUPPORTED):
        sftp.extended(b"")


def test_cut_requests_are_garbled(sftp: SftpClient, work: Path) -> None:
    (work / "file").touch()
    handle = text(sftp.open(b"file", READS | WRITES))
    whole = {
        Ask.OPEN: text(b"new") + number(WRITES | CREATES) + attributes(mode=0o600, times=(1, 1)),
        Ask.READ: handle + long(0) + number(1),
        Ask.WRITE: handle + long(0) + text(b"data"),
        Ask.SETSTAT: text(b"file") + attributes(size=1, owner=(0, 0), mode=0, times=(1, 1)),
        Ask.FSETSTAT: handle + attributes(size=1, owner=(0, 0), mode=0, times=(1, 1)),
        Ask.MKDIR: text(b"folder") + attributes(mode=0o700),
        Ask.RENAME: text(b"file") + text(b"moved"),
        Ask.SYMLINK: text(b"file") + text(b"link"),
        Ask.REMOVE: text(b"file"),
        Ask.EXTENDED: text(b"posix-rename@openssh.com") + text(b"file") + text(b"moved"),
    }
    for kind, fields in whole.items():
        for length in range(len(fields)):
            with raises(Status.BAD_MESSAGE):
                sftp.ask(kind, fields[:length])
    assert [path.name for path in work.iterdir()] == ["file"]
    assert (work / "file").stat().st_size == 0


def test_attributes_of_extensions_are_passed_over(sftp: SftpClient) -> None:
    extended = number(1 << 31) + number(2) + (text(b"name") + text(b"value")) * 2
    sftp.ask(Ask.MKDIR, text(b"folder"), extended)
    with raises(Status.BAD_MESSAGE):
        sftp.ask(Ask.MKDIR, text(b"other"), number(1 << 31) + number(0xFFFFFFFF))


def test_handles_that_are_none_are_refused(sftp: SftpClient, work: Path) -> None:
    (work / "file").touch()
    handle = sftp.open(b"file")
    folder = sftp.ask(Ask.OPENDIR, text(b"."))[1].text()
    for wrong in (b"", b"1234", b"\xff" * 8, handle + b"\0", b"\0" * 8, handle[::-1], b"x" * 5000):
        for kind in (Ask.CLOSE, Ask.READ, Ask.WRITE, Ask.FSTAT, Ask.READDIR):
            with raises(Status.FAILURE):
                sftp.ask(kind, text(wrong), long(0), number(0))
    with raises(Status.FAILURE):
        sftp.read(folder, 0, 1)
    with raises(Status.NO_SUCH_FILE):
        sftp.ask(Ask.READDIR, text(handle))


def test_paths_that_are_none_are_refused(sftp: SftpClient) -> None:
    for path in (b"a\0b", b"\0", b"a" * 4096, b"a/" * 3000):
        for kind in (Ask.STAT, Ask.OPENDIR, Ask.REMOVE, Ask.REALPATH, Ask.READLINK):
            with raises(Status.BAD_MESSAGE):
                sftp.ask(kind, text(path))
    with raises(Status.BAD_MESSAGE):
        sftp.stat(b"a" * 256)
    with raises(Status.BAD_MESSAGE):
        sftp.ask(Ask.SYMLINK, text(b"a\0b"), text(b"link"))


def _field() -> st.SearchStrategy[bytes]:
    return st.one_of(
        st.sampled_from(HANDLES),
        st.sampled_from(PATHS).map(text),
        st.sampled_from([b"limits@openssh.com", b"copy-data", b"statvfs@openssh.com"]).map(text),
        st.sampled_from([0, 1, 2, 26, 63, 0x80000000, 0xFFFFFFFF]).map(number),
        st.sampled_from([0, 1, 1 << 20, 1 << 62, (1 << 64) - 1]).map(long),
        st.binary(max_size=40),
    )


def _request() -> st.SearchStrategy[bytes]:
    kinds = st.one_of(st.sampled_from(list(Ask)), st.integers(0, 255))
    return st.tuples(kinds, st.lists(_field(), max_size=6)).map(
        lambda parts: bytes([parts[0]]) + number(9) + b"".join(parts[1])
    )


@settings(
    max_examples=examples(USUAL_EXAMPLES),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(requests=st.lists(_request(), max_size=40))
def test_every_request_has_one_answer(checked_init: str, requests: Sequence[bytes]) -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        work = Path(folder)
        (work / "file").write_bytes(b"file")
        (work / "folder").mkdir()
        (work / "link").symlink_to("..")
        opens = text(bytes([Ask.OPEN]) + number(9) + text(b"file") + number(3) + number(0))
        data = text(b"\x01" + number(3)) + opens + b"".join(map(text, requests))
        code, answers, complaint = ends(lambda: [checked_init, "sftp", "--root", folder], data)
    assert (code, complaint) == (0, b"")
    kinds, rest = [], Fields(answers)
    while rest.data:
        kinds.append(Reply(rest.text()[0]))
    assert len(kinds) == len(requests) + 2


@settings(max_examples=examples(USUAL_EXAMPLES), deadline=None)
@given(seed=st.integers(0, 2**32), flips=st.integers(1, 30))
def test_flipped_bits_crash_nothing(checked_init: str, seed: int, flips: int) -> None:
    dice = random.Random(seed)
    data = bytearray(_conversation())
    for _ in range(flips):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        code, _, complaint = ends(lambda: [checked_init, "sftp", "--root", folder], bytes(data))
    assert code in (0, UNSAFE)
    assert (code == UNSAFE) == complaint.startswith(b"0 ") == bool(complaint)


def _conversation() -> bytes:
    handle = HANDLES[0]
    requests = [
        (Ask.OPEN, text(b"file") + number(READS | WRITES | CREATES) + attributes(mode=0o600)),
        (Ask.WRITE, handle + long(0) + text(os.urandom(64))),
        (Ask.READ, handle + long(0) + number(64)),
        (Ask.FSETSTAT, handle + attributes(size=3, mode=0o640, times=(1, 2))),
        (Ask.MKDIR, text(b"folder") + number(0)),
        (Ask.OPENDIR, text(b".")),
        (Ask.READDIR, number(8) + number(1) + number(1)),
        (Ask.SYMLINK, text(b"file") + text(b"folder/link")),
        (Ask.READLINK, text(b"folder/link")),
        (Ask.REALPATH, text(b"folder/../folder/link")),
        (Ask.RENAME, text(b"file") + text(b"folder/file")),
        (Ask.EXTENDED, text(b"posix-rename@openssh.com") + text(b"folder/file") + text(b"f")),
        (Ask.EXTENDED, text(b"statvfs@openssh.com") + text(b"/")),
        (Ask.LSTAT, text(b"f")),
        (Ask.REMOVE, text(b"f")),
        (Ask.CLOSE, handle),
    ]
    messages = [bytes([kind]) + number(kind) + fields for kind, fields in requests]
    return text(b"\x01" + number(3)) + b"".join(map(text, messages))
