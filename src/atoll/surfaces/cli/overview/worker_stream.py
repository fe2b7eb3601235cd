"""The stream of a worker: followed over as many connections as it takes, an event a line."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import click

from atoll.client.fields import Json
from atoll.client.transport import Call, Stream, Transport
from atoll.client.workers.shapes import WorkerDelta, WorkerEvent, read_frame
from atoll.client.workers.workers import LAST_EVENT, stream_call
from atoll.domain.errors import Failed, StaleCursor, Unavailable
from atoll.surfaces.cli.console.moments import moment
from atoll.surfaces.cli.console.output import clean, note
from atoll.wire.http.server_sent import ServerSentLines

PAUSE_SECONDS = 0.5
MAX_WORDS = 160
_APART = frozenset({"worker_id", "method", "params", "server_request_id", "result", "data"})
_WORDS = ("text", "command", "query", "message", "reason")
"""Members of what an agent says that a person reads first."""


def follow_events(transport: Transport, worker_id: str, *, after: int) -> Iterator[WorkerEvent]:
    """Yield the events after a number until the worker is removed, as `follow_stream`."""
    for frame in follow_stream(transport, worker_id, after=after):
        if isinstance(frame, WorkerEvent):
            yield frame


def follow_stream(
    transport: Transport, worker_id: str, *, after: int
) -> Iterator[WorkerEvent | WorkerDelta]:
    """Yield the events after a number, and between them what the agent says, until the worker is
    removed; each connection resumes after the last event yielded. Raises what a request raises;
    `Unavailable` is waited out once a server has answered. `StaleCursor` where events after the
    number are no longer kept."""
    reported: bool | None = None
    while True:
        try:
            with _open_stream(transport, stream_call(worker_id, after)) as stream:
                reported = False
                for frame in _frames(stream):
                    after = max(after, _seq_of(frame))
                    yield frame
                    if _is_last(frame):
                        return
        except Unavailable as error:
            reported = _note_outage(error, reported)
        time.sleep(PAUSE_SECONDS)


def _note_outage(error: Unavailable, reported: bool | None) -> bool:
    """Say once that the server is away. Raises the error where none has ever answered."""
    if reported is None:
        raise error
    if not reported:
        note(f"atoll: {error.message}; waiting for the server to come back")
    return True


def read_tail(
    transport: Transport, worker_id: str, *, after: int, tail_ms: int
) -> Iterator[WorkerEvent | WorkerDelta]:
    """Yield what `follow_stream` yields: the events that are there, and what comes within a time.
    Raises what a request raises."""
    with _open_stream(transport, stream_call(worker_id, after, tail_ms=tail_ms)) as stream:
        yield from _frames(stream)


@contextmanager
def _open_stream(transport: Transport, call: Call) -> Iterator[Stream]:
    """Open a stream. The error for a stale cursor says how to go on."""
    try:
        with transport.open(call) as stream:
            yield stream
    except StaleCursor as error:
        message = f"{error.message.rstrip('.')} (`--after` takes that number)"
        raise StaleCursor(message, resume_after=error.resume_after) from error


def _seq_of(frame: WorkerEvent | WorkerDelta) -> int:
    return frame.seq if isinstance(frame, WorkerEvent) else 0


def _is_last(frame: WorkerEvent | WorkerDelta) -> bool:
    return isinstance(frame, WorkerEvent) and frame.event_type == LAST_EVENT


def _frames(stream: Stream) -> Iterator[WorkerEvent | WorkerDelta]:
    """Yield frames until the line breaks; the next connection says whether the server is away."""
    lines = ServerSentLines()
    with suppress(Unavailable):
        for line in stream.lines():
            if event := lines.read(line):
                yield read_frame(event.kind, event.data)


class PiecePrinter:
    """Printer of an agent's words, piece by piece: the pieces of one message stand together."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._item = ""
        self._open = False

    def add(self, piece: WorkerDelta) -> None:
        """Print a piece; one without text prints nothing."""
        if self._as_json:
            click.echo(json.dumps(piece.value))
            return
        if not (text := _delta_text(piece)):
            return
        if piece.item_id != self._item:
            self.end()
        self._item, self._open = piece.item_id, not text.endswith("\n")
        click.echo("\n".join(clean(line) for line in text.split("\n")), nl=False)

    def end(self) -> None:
        """End the line of the last piece: something else follows."""
        if self._open:
            click.echo()
        self._open = False


def is_named(event: WorkerEvent, name: str) -> bool:
    """Report whether an event is of this type, or a message of the agent with this method."""
    return name in (event.event_type, event.method)


def worker_line(event: WorkerEvent) -> str:
    """Return `seq  at  type or method  [question ID]  words` of an event."""
    question = f"question {event.question}" if event.question else ""
    words = [str(event.seq), moment(event.at), event.method or event.event_type, question]
    text = " ".join(_spoken_text(event).split())
    words.append(text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 1] + "…")
    return "  ".join(filter(None, words))


def _spoken_text(event: WorkerEvent) -> str:
    if event.event_type == "worker.event":
        return _summarize_params(_params(event))
    if event.event_type == "worker.request.received":
        return f"{event.said.get('request_id')} {event.said.get('method')}"
    pairs = {name: value for name, value in event.said.items() if name not in _APART}
    return " ".join(f"{name}={_text_of(value)}" for name, value in pairs.items() if value)


def _delta_text(piece: WorkerDelta) -> str:
    """Return the text of a piece; empty when it cannot be read."""
    with suppress(Failed):
        return piece.text
    return ""


def _params(event: WorkerEvent) -> Mapping[str, Json]:
    with suppress(Failed):
        params = event.params
        if isinstance(params, Mapping):
            return params
    return {}


def _summarize_params(params: Mapping[str, Json]) -> str:
    """Return a summary of a message's params: its item, turn or error."""
    item = next(
        (params[name] for name in ("item", "turn", "error") if isinstance(params.get(name), dict)),
        params,
    )
    if not isinstance(item, Mapping):
        return ""
    kind = item.get("type") or item.get("status")
    words = next((item[name] for name in _WORDS if isinstance(item.get(name), str)), "")
    return " ".join(str(part) for part in (kind, words) if part)


def _text_of(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
