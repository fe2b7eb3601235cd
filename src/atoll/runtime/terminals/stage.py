"""Where output may be changed before anybody keeps or sees it: redaction will stand here."""

from typing import Protocol


class Stage(Protocol):
    """One transform of a stream. It may hold bytes back, and decides for how long."""

    def feed(self, data: bytes) -> bytes:
        """What may go on, now that `data` has come."""
        ...

    def flush(self) -> bytes:
        """What was held back; no more will come."""
        ...


class PassThrough:
    """Changes nothing."""

    def feed(self, data: bytes) -> bytes:
        """`data` itself."""
        return data

    def flush(self) -> bytes:
        """Nothing: nothing is held back."""
        return b""
