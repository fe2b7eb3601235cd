"""The standing stream of a session: what a server says unasked, as lines for the client.

It is opened again wherever it broke off, from the last event that was read.
"""

import threading
from collections.abc import Callable
from typing import Final

from atoll.client.bridge.endpoint import Endpoint, McpAnswer, OpenRequest, RequestCancelled
from atoll.client.bridge.messages import BadMessage, one_line
from atoll.client.bridge.session import LOST, HandshakeSession
from atoll.domain.errors import AtollError

SILENCE_SECONDS: Final = 50.0
"""The server sends a comment much oftener; after this the connection is taken for dead."""

PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 15.0
_SERVER_FAULT: Final = 500


class StandingStream:
    """The thread that reads the stream, once a session has begun."""

    def __init__(
        self, endpoint: Endpoint, session: HandshakeSession, write: Callable[[bytes], None]
    ) -> None:
        self._endpoint = endpoint
        self._session = session
        self._write = write
        self._ended = threading.Event()
        self._flight = OpenRequest()
        self._begun = False
        self._last = ""

    def begin(self) -> None:
        """Read the stream from now on, if there is a session."""
        if not self._begun and self._session.id:
            self._begun = True
            threading.Thread(target=self._run, daemon=True).start()

    def end(self) -> None:
        """Read no more."""
        self._ended.set()
        self._flight.cancel()

    def _run(self) -> None:
        pause = PAUSE_SECONDS
        while not self._ended.is_set():
            before = self._last
            try:
                if not self._read_once():
                    return
            except RequestCancelled:
                return
            except AtollError:
                # It is away, or broke the connection off.
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            pause = PAUSE_SECONDS if self._last != before else pause
            self._ended.wait(pause)

    def _read_once(self) -> bool:
        """Read the stream until it breaks off. Returns whether there is one."""
        session = self._session.id
        place = {"Last-Event-ID": self._last} if self._last else {}
        answer = self._endpoint.stream({**self._session.headers(), **place}, self._flight)
        try:
            if answer.status == LOST and session:
                answer.close()
                self._last = ""
                for line in self._session.renew(session, self._flight):
                    self._write(line)
                return True
            if not answer.is_stream:
                return answer.status >= _SERVER_FAULT
            self._relay(answer)
        finally:
            answer.close()
        return True

    def _relay(self, answer: McpAnswer) -> None:
        for event in answer.events(silence=SILENCE_SECONDS):
            self._last = event.place
            try:
                self._write(one_line(event.data).body)
            except BadMessage:
                # It would break the client's reading; the next one may be whole.
                continue
