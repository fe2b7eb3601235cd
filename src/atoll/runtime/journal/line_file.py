"""A file of lines that is only appended to, and whose last line may be torn by a sudden death."""

import os
from collections.abc import Iterator
from pathlib import Path

_OWNER_ONLY = 0o600


class LineFile:
    """An open file of lines. Opening it cuts off a torn last line."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises `OSError`."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self.path = path
        self._file = os.open(path, flags, _OWNER_ONLY)
        data = path.read_bytes()
        self.size = data.rfind(b"\n") + 1
        if self.size < len(data):
            os.ftruncate(self._file, self.size)

    def append(self, line: bytes) -> int:
        """Write one line, all of it or nothing; return where it begins. Raises `OSError`."""
        data = line + b"\n"
        at, rest = self.size, memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, at)
            raise
        self.size += len(data)
        return at

    def read_at(self, begin: int, length: int) -> bytes:
        """Return the bytes at a place."""
        return os.pread(self._file, length, begin)

    def lines(self) -> Iterator[bytes]:
        """Yield every line without its end."""
        yield from self.read_at(0, self.size).split(b"\n")[:-1]

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
