"""A wait for events of the log, over as many connections as it takes.

A thread reads the stream and rings; the command asks the API again and shows what it then finds.
So a burst of events costs one redraw.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from atoll.client.transport import Call, Stream, Transport, api_path
from atoll.domain.errors import AtollError

SILENCE_SECONDS = 20.0
"""The server sends a heartbeat much oftener; after this the line is taken for dead."""
PAUSE_SECONDS = 0.3


class EventWatch:
    """Watch of the event stream. `wait` returns after something of `kinds` happened."""

    def __init__(self, transport: Transport, kinds: tuple[str, ...]) -> None:
        self._transport = transport
        self._kinds = tuple(kind.encode() for kind in kinds)
        self._rung = threading.Event()
        self._over = threading.Event()

    def wait(self, seconds: float) -> None:
        """Wait for an event, at most this long."""
        self._rung.wait(seconds)
        self._rung.clear()

    def _run(self) -> None:
        headers = (("Accept", "text/event-stream"),)
        call = Call("GET", api_path("events", "stream"), (), headers, timeout=SILENCE_SECONDS)
        while not self._over.is_set():
            with suppress(AtollError), self._transport.open(call) as stream:
                self._rung.set()  # What happened before the stream began is not in it.
                self._read(stream)
            self._over.wait(PAUSE_SECONDS)

    def _read(self, stream: Stream) -> None:
        for line in stream.lines():
            if self._over.is_set():
                return
            name, _, value = line.partition(b":")
            if name == b"event" and value.strip().startswith(self._kinds):
                self._rung.set()

    def close(self) -> None:
        """Let the thread end."""
        self._over.set()


@contextmanager
def watch_events(transport: Transport, kinds: tuple[str, ...]) -> Iterator[EventWatch]:
    """Watch events whose kinds begin with one of `kinds`."""
    watch = EventWatch(transport, kinds)
    # A daemon: it may block in a read, and the process must still end.
    threading.Thread(target=watch._run, daemon=True).start()
    try:
        yield watch
    finally:
        watch.close()
