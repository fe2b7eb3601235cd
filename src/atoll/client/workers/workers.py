"""The routes of workers: requests to an agent, each with one receipt."""

import uuid
from collections.abc import Mapping
from typing import Final, NamedTuple

from atoll.client.fields import Json, Shape
from atoll.client.made.workers.workers import (
    ErrorCode,
    PlainWorkers,
    TakeWorkerBody,
    Worker,
    WorkerReceipt,
    WorkerRequestBody,
    WorkerRequestFields,
    WorkerTaken,
)
from atoll.client.transport import ANSWER_SECONDS, Call, api_path, post
from atoll.client.workers.shapes import WorkerEvent, read_frame, read_json
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    Unavailable,
)
from atoll.wire.http.server_sent import ServerSentLines

RECEIPT_SECONDS: Final = 30
"""The time that `ask` and `result` wait for each receipt."""
SILENCE_SECONDS: Final = 20.0
"""The server sends a heartbeat much oftener; after this a stream is taken for dead."""
LOOK_SECONDS: Final = 0.5
"""Between two looks at a worker that starts."""
LAST_EVENT: Final = "worker.torn_down"
"""The event that ends a stream: the worker is removed."""

_KINDS: Final[dict[ErrorCode, type[AtollError]]] = {
    "forbidden": Forbidden,
    "invalid_request": Invalid,
    "unsupported_method": Invalid,
    "conflict": Conflict,
    "worker_unavailable": Unavailable,
    "timeout": Unavailable,
    "internal_error": Failed,
    "outcome_unknown": Failed,
}


class Turn(NamedTuple):
    """A turn of an agent that a prompt began."""

    thread_id: str
    turn_id: str


class Workers(PlainWorkers):
    """The caller's workers. Every method raises the classes of `atoll.domain.errors`."""

    def request(
        self, worker_id: str, request: WorkerRequestFields, *, wait_ms: int = 0
    ) -> WorkerReceipt:
        """Send a request to the agent, once, whatever is repeated. Its receipt is pending where
        the agent did not answer within `wait_ms`."""
        body: WorkerRequestBody = {"request": request, "wait_ms": wait_ms}
        call = post("workers", worker_id, "requests", value=body)
        seconds = ANSWER_SECONDS + wait_ms / 1000
        return self._transport.read(WorkerReceipt, call._replace(timeout=seconds))

    def result(
        self, worker_id: str, method: str, params: Mapping[str, object] | None = None
    ) -> Json:
        """Send a request under a new id and return the agent's answer. Raises as `result_of`."""
        fields: WorkerRequestFields = {
            "request_id": new_request_id(),
            "method": method,
            "params": dict(params or {}),
        }
        return result_of(self.request(worker_id, fields, wait_ms=RECEIPT_SECONDS * 1000))

    def ask(self, worker_id: str, prompt: str, *, thread_id: str | None = None) -> Turn:
        """Give the agent a prompt: in this thread, else in its newest one, else in a new one.
        Raises as `result_of`."""
        thread = self._thread(worker_id, thread_id)
        words = [{"type": "text", "text": prompt}]
        begun = self.result(worker_id, "turn/start", {"threadId": thread, "input": words})
        return Turn(thread, _id_of(begun, "turn"))

    def answer(self, worker_id: str, question: str, result: Mapping[str, object]) -> None:
        """Answer a question of the agent, which its event names. Raises as `result_of`."""
        params = {"server_request_id": question, "result": dict(result)}
        self.result(worker_id, "serverRequest/respond", params)

    def events(self, worker_id: str, *, after: int = 0, tail_ms: int = 0) -> list[WorkerEvent]:
        """Return the events after a number that are there, and those of the next `tail_ms`
        milliseconds. Raises `StaleCursor` where some of them are no longer kept."""
        lines, frames = ServerSentLines(), []
        with self._transport.open(stream_call(worker_id, after, tail_ms=tail_ms)) as stream:
            for line in stream.lines():
                if frame := lines.read(line):
                    frames.append(read_frame(frame.kind, frame.data))
        return [frame for frame in frames if isinstance(frame, WorkerEvent)]

    def take(
        self, worker_id: str, thread_id: str | None = None, *, desktop: str | None = None
    ) -> WorkerTaken:
        """Take a thread, by default the newest, to a terminal; requests are refused meanwhile. A
        worker on a linked machine is taken there alone: `desktop` is the one you sit at."""
        body: TakeWorkerBody = {"thread_id": thread_id, "desktop": desktop}
        return self._transport.read(WorkerTaken, post("workers", worker_id, "take", value=body))

    def _thread(self, worker_id: str, wanted: str | None) -> str:
        """Return a thread that the agent has loaded, which a turn can begin in."""
        loaded = _read_data(self.result(worker_id, "thread/loaded/list"))
        if wanted is None:
            listed = _read_data(self.result(worker_id, "thread/list", {"limit": 1}))
            wanted = _require_text(Shape.read(listed[0]).value, "id") if listed else None
        if wanted is None and loaded:
            wanted = str(loaded[-1])
        if wanted is None:
            return _id_of(self.result(worker_id, "thread/start"), "thread")
        if wanted not in loaded:
            self.result(worker_id, "thread/resume", {"threadId": wanted})
        return wanted


def stream_call(worker_id: str, after: int, *, tail_ms: int | None = None) -> Call:
    """Return the request for the events of a worker after a number; with `tail_ms`, for those that
    are there and those of that time."""
    place = api_path("workers", worker_id, "stream")
    headers = (("Accept", "text/event-stream"),)
    tail = () if tail_ms is None else (("tail_ms", str(tail_ms)),)
    query = (("cursor", str(after)), *tail)
    return Call("GET", place, query, headers, timeout=SILENCE_SECONDS)


def is_up(worker: Worker) -> bool:
    """Report whether a worker takes requests; False while it starts. Raises `Failed` with the
    reason for one that has ended."""
    if worker.status in ("starting", "running"):
        return worker.status == "running"
    reason = worker.reason or "a create with its worker_id starts it again"
    raise Failed(f"worker {worker.worker_id} is {worker.status}: {reason}")


def new_request_id() -> str:
    """Return an id that no request had."""
    return f"r-{uuid.uuid4().hex}"


def result_of(receipt: WorkerReceipt) -> Json:
    """Return the agent's answer. Raises the class of a refusal, with its code, and `Unavailable`,
    code `not_ready`, for a request without a receipt: the same one again brings it."""
    if receipt.response is not None:
        return read_json(receipt.response.result)
    error = receipt.error
    if error is None:
        raise Unavailable(
            f"request {receipt.request_id} of worker {receipt.worker_id} has no answer yet: send "
            "it again under its id, which does nothing twice",
            code="not_ready",
        )
    kind = _KINDS.get(error.code, Failed)
    raise kind(f"worker {receipt.worker_id}: {error.message}", code=error.code or None)


def _read_data(answer: Json) -> list[Json]:
    """Return the `data` list of an answer; an empty list when it has none."""
    data = Shape.read(answer).value.get("data")
    return list(data) if isinstance(data, list) else []


def _id_of(answer: Json, name: str) -> str:
    return _require_text(Shape.read(Shape.read(answer).value.get(name), name).value, "id")


def _require_text(fields: Mapping[str, Json], name: str) -> str:
    """Return a text field that may not be absent or empty. Raises `Failed`."""
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise Failed(f"the agent named no {name} where one belongs: see what it answers")
    return value
