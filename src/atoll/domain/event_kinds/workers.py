"""Events of workers. Opaque JSON of an agent is text, byte for byte."""

from typing import Final

from atoll.domain.event_kinds.kind import EventKind, kind

_REQUEST = "worker_id request_id"

WORKERS: Final[tuple[tuple[str, EventKind], ...]] = (
    kind(
        "worker.started",
        "worker_id epoch reattached",
        "backend extension execution_mode agent agent_version sandbox route",
        "A worker serves requests.",
    ),
    kind(
        "worker.request.received",
        _REQUEST + " method",
        "params",
        "A request was taken and goes to the agent.",
    ),
    kind("worker.response", _REQUEST + " result", "", "The agent answered a request."),
    kind(
        "worker.error",
        _REQUEST + " code message retryable",
        "data",
        "A request ended without a result.",
    ),
    kind(
        "worker.event",
        "worker_id method params",
        "thread_id server_request_id",
        "The agent reported something, or asks.",
    ),
    kind(
        "worker.heartbeat",
        "worker_id heartbeat_state",
        "heartbeat_age_ms",
        "The state of a worker's heartbeat changed.",
    ),
    kind("worker.lost", "worker_id epoch reason", "request_ids", "A worker's host is gone."),
    kind("worker.recovered", "worker_id epoch delivered", "", "A lost worker is back."),
    kind(
        "worker.handed_over",
        "worker_id holder thread_id",
        "terminal_id",
        "A person took the conversation to a terminal, or gave it back.",
    ),
    kind(
        "worker.stopped",
        "worker_id status reason markers",
        "",
        "A worker has stopped, and what it left is safe.",
    ),
    kind(
        "worker.torn_down",
        "worker_id policy removed leftovers",
        "due_at",
        "The sandbox of a stopped worker was removed.",
    ),
)
