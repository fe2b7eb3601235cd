"""uvicorn's HTTP protocol with a bound on a request's head, which it lacks.

Without it anybody who reaches the port could send headers until memory ends, before any
credential is looked at. Nothing else is changed.
"""

from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES: Final = 64 * 1024


class BoundedHead(HttpToolsProtocol):
    """Answers 400 and hangs up when a head is longer than `MAX_HEAD_BYTES`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._in_head = True
        self._unfinished = 0
        self._heard = 0

    def data_received(self, data: bytes) -> None:
        """Count what came while the head is not whole: the parser keeps it all."""
        self._unfinished += len(data)
        super().data_received(data)
        if self._in_head and self._unfinished > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The request's head is too long.")

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A whole header."""
        self._count(name + value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole: what follows is bounded by its route."""
        self._in_head, self._heard = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next head may begin."""
        self._in_head, self._unfinished = True, 0
        super().on_message_complete()

    def _count(self, piece: bytes) -> None:
        self._heard += len(piece)
        if self._heard > MAX_HEAD_BYTES:
            # The parser turns it into an error of its own, which is answered with 400.
            raise ValueError("the head is too long")
