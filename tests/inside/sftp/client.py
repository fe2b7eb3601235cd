"""A raw client of SFTP version 3 over two pipes, which sends whatever it is told."""

import stat
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest


class Ask(IntEnum):
    """Requests by their numbers."""

    INIT = 1
    OPEN = 3
    CLOSE = 4
    READ = 5
    WRITE = 6
    LSTAT = 7
    FSTAT = 8
    SETSTAT = 9
    FSETSTAT = 10
    OPENDIR = 11
    READDIR = 12
    REMOVE = 13
    MKDIR = 14
    RMDIR = 15
    REALPATH = 16
    STAT = 17
    RENAME = 18
    READLINK = 19
    SYMLINK = 20
    EXTENDED = 200


class Reply(IntEnum):
    """Answers by their numbers."""

    VERSION = 2
    STATUS = 101
    HANDLE = 102
    DATA = 103
    NAME = 104
    ATTRS = 105
    EXTENDED = 201


class Status(IntEnum):
    """What a status says."""

    OK = 0
    EOF = 1
    NO_SUCH_FILE = 2
    PERMISSION_DENIED = 3
    FAILURE = 4
    BAD_MESSAGE = 5
    OP_UNSUPPORTED = 8


READS, WRITES, APPENDS, CREATES, TRUNCATES, MUST_CREATE = 1, 2, 4, 8, 16, 32


class Refusal(Exception):
    """A status other than `ok`, and its sentence."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(Status(status), reason)
        self.status = Status(status)
        self.reason = reason


def raises(status: Status) -> pytest.RaisesExc[Refusal]:
    """Expect a request to be refused with a status."""
    return pytest.raises(Refusal, check=lambda refusal: refusal.status is status)


def number(value: int) -> bytes:
    """Return four bytes."""
    return struct.pack(">I", value)


def long(value: int) -> bytes:
    """Return eight bytes."""
    return struct.pack(">Q", value)


def text(value: bytes) -> bytes:
    """Return bytes after their length."""
    return number(len(value)) + value


def attributes(
    *,
    size: int | None = None,
    owner: tuple[int, int] | None = None,
    mode: int | None = None,
    times: tuple[int, int] | None = None,
) -> bytes:
    """Return attributes: those that are given."""
    flags, fields = 0, b""
    if size is not None:
        flags, fields = flags | 1, fields + long(size)
    if owner is not None:
        flags, fields = flags | 2, fields + struct.pack(">II", *owner)
    if mode is not None:
        flags, fields = flags | 4, fields + number(mode)
    if times is not None:
        flags, fields = flags | 8, fields + struct.pack(">II", *times)
    return number(flags) + fields


@dataclass(frozen=True)
class Attributes:
    """What a server tells of an entry."""

    size: int
    owner: tuple[int, int]
    mode: int
    times: tuple[int, int]

    @property
    def kind(self) -> str:
        """The letter of its kind in `ls -l`."""
        return stat.filemode(self.mode)[0]


@dataclass(frozen=True)
class Entry:
    """A name of a folder."""

    name: bytes
    line: bytes
    attributes: Attributes


class Fields:
    """The fields of an answer, in turn."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        assert len(self.data) >= length, "an answer is cut"
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def number(self) -> int:
        """Return the next four bytes as a number."""
        value: int = struct.unpack(">I", self.take(4))[0]
        return value

    def long(self) -> int:
        """Return the next eight bytes as a number."""
        value: int = struct.unpack(">Q", self.take(8))[0]
        return value

    def text(self) -> bytes:
        """Return bytes after their length."""
        return self.take(self.number())

    def attributes(self) -> Attributes:
        """Return attributes, of which a server tells all."""
        assert self.number() == 15
        size = self.long()
        owner = self.number(), self.number()
        return Attributes(size, owner, self.number(), (self.number(), self.number()))


class SftpClient:
    """A server that was started, and its two pipes. Leaving it asserts that it ends well."""

    def __init__(self, argv: Sequence[str | Path], *, greets: bool = True) -> None:
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdin and self.process.stdout
        self.input, self.output = self.process.stdin, self.process.stdout
        self.extensions: dict[bytes, bytes] = {}
        self._last = 0
        if greets:
            self._greet()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.process.kill()
        code, complaint = self.end()
        assert kind is not None or (code, complaint) == (0, b"")

    def end(self) -> tuple[int, bytes]:
        """Close the input; return the exit code, and what was said on standard error."""
        _, complaint = self.process.communicate(timeout=60)
        return self.process.returncode, complaint

    def send(self, message: bytes) -> None:
        """Send a message after its length."""
        self.input.write(text(message))
        self.input.flush()

    def receive(self) -> bytes:
        """Return the next answer; empty at the end."""
        length = self.output.read(4)
        return self.output.read(int.from_bytes(length)) if length else b""

    def ask(self, kind: int, *fields: bytes) -> tuple[Reply, Fields]:
        """Send a request and return its answer. Raises `Refusal`."""
        self._last += 1
        self.send(bytes([kind]) + number(self._last) + b"".join(fields))
        answer = self.receive()
        assert answer, self.end()
        reply, rest = Reply(answer[0]), Fields(answer[1:])
        assert rest.number() == self._last
        if reply is Reply.STATUS:
            status, reason = rest.number(), rest.text().decode()
            assert rest.text() == b"en"
            if status:
                raise Refusal(status, reason)
        return reply, rest

    def extended(self, name: bytes, *fields: bytes) -> Fields:
        """Send a request of an extension."""
        return self.ask(Ask.EXTENDED, text(name), *fields)[1]

    def open(self, path: bytes, flags: int = READS, wanted: bytes = number(0)) -> bytes:
        """Return a handle of a file."""
        return self.ask(Ask.OPEN, text(path), number(flags), wanted)[1].text()

    def close(self, handle: bytes) -> None:
        """Close a handle."""
        self.ask(Ask.CLOSE, text(handle))

    def read(self, handle: bytes, offset: int, length: int) -> bytes:
        """Return bytes of a file; empty at its end."""
        try:
            return self.ask(Ask.READ, text(handle), long(offset), number(length))[1].text()
        except Refusal as refusal:
            if refusal.status is Status.EOF:
                return b""
            raise

    def write(self, handle: bytes, offset: int, data: bytes) -> None:
        """Write bytes of a file."""
        self.ask(Ask.WRITE, text(handle), long(offset), text(data))

    def contents(self, path: bytes) -> bytes:
        """Return the first 256 KiB of a file."""
        handle = self.open(path)
        data = self.read(handle, 0, 1 << 18)
        self.close(handle)
        return data

    def stat(self, path: bytes) -> Attributes:
        """Return what a path leads to."""
        return self.ask(Ask.STAT, text(path))[1].attributes()

    def lstat(self, path: bytes) -> Attributes:
        """Return what a path names."""
        return self.ask(Ask.LSTAT, text(path))[1].attributes()

    def listing(self, path: bytes) -> dict[bytes, Entry]:
        """Return the entries of a folder."""
        handle = self.ask(Ask.OPENDIR, text(path))[1].text()
        entries = {entry.name: entry for part in self._parts(handle) for entry in part}
        self.close(handle)
        return entries

    def real_path(self, path: bytes) -> bytes:
        """Return the absolute path that a server makes of a path."""
        return self._name(Ask.REALPATH, text(path))

    def link_target(self, path: bytes) -> bytes:
        """Return what a link says."""
        return self._name(Ask.READLINK, text(path))

    def _name(self, kind: int, *fields: bytes) -> bytes:
        answer = self.ask(kind, *fields)[1]
        assert answer.number() == 1
        return answer.text()

    def _parts(self, handle: bytes) -> Iterator[list[Entry]]:
        while True:
            try:
                answer = self.ask(Ask.READDIR, text(handle))[1]
            except Refusal as refusal:
                assert refusal.status is Status.EOF
                return
            count = answer.number()
            yield [Entry(answer.text(), answer.text(), answer.attributes()) for _ in range(count)]

    def _greet(self) -> None:
        self.send(bytes([Ask.INIT]) + number(3))
        answer = Fields(self.receive())
        assert (answer.take(1)[0], answer.number()) == (Reply.VERSION, 3)
        while answer.data:
            name = answer.text()
            self.extensions[name] = answer.text()
