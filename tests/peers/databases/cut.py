"""A way to a PostgreSQL server that is cut for good once a client says a word."""

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class CutLine:
    """The way from `listener` to the socket at `target`, until something sent has `word` in it."""

    listener: socket.socket
    target: str
    word: bytes
    was_cut: threading.Event = field(default_factory=threading.Event)
    cut_at: float = 0.0
    """When that was, by the monotonic clock."""
    ends: list[socket.socket] = field(default_factory=list)

    def run(self) -> None:
        """Carry connections, until the listener is closed."""
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if self.was_cut.is_set():
                near.close()
                continue
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.target)
            self.ends += [near, far]
            for pair in ((near, far, self.word), (far, near, None)):
                threading.Thread(target=self._pour, args=pair, daemon=True).start()

    def cut(self) -> None:
        """End every connection."""
        if not self.was_cut.is_set():
            self.cut_at = time.monotonic()
        self.was_cut.set()
        for one in self.ends:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _pour(self, source: socket.socket, sink: socket.socket, word: bytes | None) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                if word is not None and word in piece:
                    self.cut()
                    return
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def cut_line(folder: str, word: bytes) -> Iterator[tuple[str, CutLine]]:
    """The folder of a socket that leads to the server whose socket is in `folder`."""
    [name] = [one.name for one in Path(folder).glob(".s.PGSQL.*") if one.suffix != ".lock"]
    own = tempfile.mkdtemp(prefix="at", dir="/tmp")
    Path(own).chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{own}/{name}")
        Path(own, name).chmod(0o777)
        listener.listen(64)
        line = CutLine(listener, f"{folder}/{name}", word)
        carrying = threading.Thread(target=line.run, daemon=True)
        carrying.start()
        try:
            yield own, line
        finally:
            line.cut()
            listener.shutdown(socket.SHUT_RDWR)
            carrying.join()
            for one in line.ends:
                one.close()
            shutil.rmtree(own)
