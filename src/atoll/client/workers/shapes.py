"""Answers of the routes of workers, and the events of a worker's stream.

What the agent said is text there, and its own JSON: `read_json` reads it.
"""

import json
from collections.abc import Mapping
from typing import Final, Literal

from atoll.client import fields
from atoll.client.fields import Field, Json, Shape
from atoll.client.made.sandboxes.views import Isolation
from atoll.client.words import Strategy
from atoll.domain.errors import Failed

WorkerStatus = Literal["starting", "running", "stopping", "stopped", "failed"]
HeartbeatState = Literal["fresh", "stale", "missing", "stopped", "failed"]
ExecutionMode = Literal["desktop", "sandbox"]
ErrorCode = Literal[
    "forbidden",
    "invalid_request",
    "unsupported_method",
    "conflict",
    "worker_unavailable",
    "timeout",
    "internal_error",
    "outcome_unknown",
]

OTHER_BACKEND: Final = "extension"
"""The `backend` of a worker on a backend of somebody else's, whose id is its `extension`."""

DELTA: Final = "worker.delta"
"""The name of a frame that is no event: a piece of text, without an id."""


class WorkerTeardown(Shape):
    """The fate of a stopped worker's sandbox; `retain_for` is a duration."""

    policy: Field[Literal["immediate", "retain"]] = fields.word()
    retain_for = fields.text()


class WorkerRepo(Shape):
    """A repository of a worker, as it was requested."""

    repo_url = fields.text()
    key = fields.text()
    branch = fields.text()
    from_branch = fields.text()
    path = fields.text()
    sparse = fields.texts()


class WorkerPlace(Shape):
    """A place that a sandbox can be at."""

    backend = fields.text()
    extension = fields.text()
    host = fields.text()
    region = fields.text()


class WorkerCandidate(Shape):
    """A candidate of a decision, and why it could not take the worker."""

    placement = fields.one(WorkerPlace)
    execution_mode: Field[ExecutionMode] = fields.word()
    fit = fields.flag()
    reasons = fields.texts()


class WorkerAttempt(Shape):
    """A start at a place that failed."""

    placement = fields.one(WorkerPlace)
    at = fields.text()
    reason = fields.text()


class WorkerRoute(Shape):
    """The stored decision of a worker's route."""

    route_id = fields.text()
    at = fields.text()
    strategy: Field[Strategy] = fields.word()
    chosen = fields.one(WorkerPlace)
    candidates = fields.many(WorkerCandidate)
    attempts = fields.many(WorkerAttempt)


class WorkerSandbox(Shape):
    """The sandbox of a worker."""

    id = fields.text()
    isolation = fields.one(Isolation)
    region = fields.text()
    host = fields.text()


class WorkerThread(Shape):
    """A conversation of a worker. `turn_id` is the turn that runs, empty while none does."""

    thread_id = fields.text()
    turn_id = fields.text()
    title = fields.text()


class ServerRequest(Shape):
    """A question of the agent that nobody has answered; `params` are its own JSON, as text."""

    server_request_id = fields.text()
    method = fields.text()
    params = fields.text()
    thread_id = fields.text()
    at = fields.text()


class WorkerPending(Shape):
    """Requests without a receipt, and questions without an answer."""

    request_ids = fields.texts()
    server_requests = fields.many(ServerRequest)


class WorkerUsage(Shape):
    """The usage of a worker's sandbox, as its broker counts it: calls of models that passed, and
    their tokens. `cached_tokens` are among `input_tokens`."""

    requests = fields.number()
    input_tokens = fields.number()
    output_tokens = fields.number()
    cached_tokens = fields.number()


class WorkerArtifact(Shape):
    """A file that an execution made: its media type, its bytes, and its SHA-256 in hexadecimal."""

    name = fields.text()
    type = fields.text()
    size = fields.number()
    sha256 = fields.text()


class WorkerErased(Shape):
    """A deletion of what an agent said: how many events were removed, and the number after which
    they begin now."""

    removed = fields.number()
    resume_after = fields.number()


class WorkerRemoval(Shape):
    """The teardown of a worker: what was removed, and what could not be, with why."""

    removed = fields.texts()
    leftovers = fields.texts()


class Worker(Shape):
    """A snapshot of a worker. Of one without a sandbox yet, `sandbox.id` is empty. `remove_at` is
    when the sandbox of a stopped one is removed; before that `torn_down` is empty."""

    worker_id = fields.text()
    agent = fields.text()
    backend = fields.text()
    extension = fields.text()
    execution_mode: Field[ExecutionMode] = fields.word()
    profile = fields.text()
    repos = fields.many(WorkerRepo)
    workspace_ref = fields.text()
    codex_home_ref = fields.text()
    thread_id = fields.text()
    permissions: Field[Literal["allow", "ask"]] = fields.word()
    teardown = fields.one(WorkerTeardown)
    status: Field[WorkerStatus] = fields.word()
    reason = fields.text()
    latest_seq = fields.number()
    sandbox = fields.one(WorkerSandbox)
    heartbeat_state: Field[HeartbeatState] = fields.word()
    heartbeat_age_ms = fields.number()
    heartbeat_stale_after_ms = fields.number()
    threads = fields.many(WorkerThread)
    pending = fields.one(WorkerPending)
    usage = fields.one(WorkerUsage)
    artifacts = fields.many(WorkerArtifact)
    route = fields.one(WorkerRoute)
    held_by_person = fields.flag()
    created_at = fields.text()
    remove_at = fields.text()
    torn_down = fields.one(WorkerRemoval)

    @property
    def backend_name(self) -> str:
        """Return its backend as people call it: one of somebody else's by its id."""
        return self.extension if self.backend == OTHER_BACKEND else self.backend

    @property
    def metadata(self) -> dict[str, str]:
        """Return the metadata by name."""
        found = self.value.get("metadata")
        pairs = found.items() if isinstance(found, Mapping) else ()
        return {name: str(value) for name, value in pairs}


class WorkerCreated(Shape):
    """A worker that was created, or that was there. `events_kept_for` is how long what its agent
    says is kept, empty for good."""

    reattached = fields.flag()
    worker = fields.one(Worker)
    events_kept_for = fields.text()


class WorkerPage(Shape):
    """A page of workers, newest first; `next` is empty on the last one."""

    workers = fields.many(Worker)
    next = fields.text()


class WorkerMarkers(Shape):
    """The places and numbers that a stopped worker left."""

    last_seq = fields.number()
    workspace_ref = fields.text()
    codex_home_ref = fields.text()
    bundle_ref = fields.text()
    thread_ids = fields.texts()


class WorkerStop(Shape):
    """A worker that stops; its `markers` are empty until it has."""

    worker_id = fields.text()
    status: Field[WorkerStatus] = fields.word()
    markers = fields.one(WorkerMarkers)


class WorkerTaken(Shape):
    """The terminal where a person has a worker's conversation; `desktop` is the machine that it is
    on, empty where it is in a sandbox."""

    worker_id = fields.text()
    sandbox_id = fields.text()
    terminal_id = fields.text()
    thread_id = fields.text()
    desktop = fields.text()


class WorkerResult(Shape):
    """An answer of the agent: its own JSON, as text."""

    result = fields.text()


class WorkerError(Shape):
    """The reason why a request has no result. `data` is the agent's own error, as JSON text."""

    code: Field[ErrorCode] = fields.word()
    message = fields.text()
    retryable = fields.flag()
    data = fields.text()


class WorkerReceipt(Shape):
    """The receipt of a request, with a response or an error; with neither it is pending."""

    worker_id = fields.text()
    request_id = fields.text()

    @property
    def response(self) -> WorkerResult | None:
        """Return the agent's answer."""
        found = self.value.get("response")
        return None if found is None else WorkerResult.read(found, "response")

    @property
    def error(self) -> WorkerError | None:
        """Return why there is no answer."""
        found = self.value.get("error")
        return None if found is None else WorkerError.read(found, "error")


class WorkerEvent(Shape):
    """An event of a worker's stream; `seq` counts from 1, without a gap."""

    worker_id = fields.text()
    seq = fields.number()
    event_type = fields.text()
    event_version = fields.number()
    at = fields.text()

    @property
    def said(self) -> Mapping[str, Json]:
        """Return the one member of the payload, which is named as the event's type."""
        payload = self.value.get("payload")
        members = list(payload.values()) if isinstance(payload, Mapping) else []
        return members[0] if members and isinstance(members[0], Mapping) else {}

    @property
    def method(self) -> str:
        """Return the method of a message of the agent; empty for every other event."""
        return str(self.said.get("method", "")) if self.event_type == "worker.event" else ""

    @property
    def params(self) -> Json:
        """Return the params of a message of the agent. Raises `Failed` for what is not JSON."""
        found = self.said.get("params")
        return read_json(found) if isinstance(found, str) else None

    @property
    def question(self) -> str:
        """Return the id by which this question of the agent is answered; empty where it is none."""
        return str(self.said.get("server_request_id") or "")


class WorkerDelta(Shape):
    """A piece of text that the agent says, live only: its completed item replaces it."""

    worker_id = fields.text()
    method = fields.text()
    thread_id = fields.text()

    @property
    def params(self) -> Json:
        """Return the params of the message. Raises `Failed` for what is not JSON."""
        found = self.value.get("params")
        return read_json(found) if isinstance(found, str) else None

    @property
    def text(self) -> str:
        """Return the piece itself, empty where the agent sent none. Raises as `params`."""
        return self._param("delta")

    @property
    def item_id(self) -> str:
        """Return the item of the piece, empty where the agent named none. Raises as `params`."""
        return self._param("itemId")

    def _param(self, name: str) -> str:
        params = self.params
        found = params.get(name) if isinstance(params, Mapping) else None
        return found if isinstance(found, str) else ""


def read_said(kind: str, data: bytes) -> WorkerEvent | WorkerDelta:
    """Return a frame of the stream, by the name that it has. Raises `Failed`."""
    found = read_json(data.decode("utf-8", "replace"))
    return WorkerDelta.read(found) if kind == DELTA else WorkerEvent.read(found)


def read_json(text: str) -> Json:
    """Return the JSON of an agent. Raises `Failed` for what is none."""
    try:
        found: Json = json.loads(text)
    except ValueError as problem:
        raise Failed("the agent's answer is not JSON: it is kept as it came") from problem
    return found
