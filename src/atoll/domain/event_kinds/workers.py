"""Events of workers. Opaque JSON of an agent is text, byte for byte."""

from typing import Final

from atoll.domain.event_kinds.kind import EventKind, define_kind

_REQUEST = "worker_id request_id"

WORKERS: Final[tuple[tuple[str, EventKind], ...]] = (
    define_kind(
        "worker.started",
        "worker_id epoch reattached",
        "backend extension execution_mode agent agent_version sandbox route",
        "A worker serves requests.",
    ),
    define_kind(
        "worker.request.received",
        _REQUEST + " method",
        "params",
        "A request was taken and goes to the agent.",
    ),
    define_kind("worker.response", _REQUEST + " result", "", "The agent answered a request."),
    define_kind(
        "worker.error",
        _REQUEST + " code message retryable",
        "data",
        "A request ended without a result.",
    ),
    define_kind(
        "worker.event",
        "worker_id method params",
        "thread_id server_request_id",
        "The agent reported something, or asks.",
    ),
    define_kind(
        "worker.heartbeat",
        "worker_id heartbeat_state",
        "heartbeat_age_ms",
        "The state of a worker's heartbeat changed.",
    ),
    define_kind("worker.lost", "worker_id epoch reason", "request_ids", "A worker's host is gone."),
    define_kind("worker.recovered", "worker_id epoch delivered", "", "A lost worker is back."),
    define_kind(
        "worker.handed_over",
        "worker_id holder thread_id",
        "terminal_id",
        "A person took the conversation to a terminal, or gave it back.",
    ),
    define_kind(
        "worker.stopped",
        "worker_id status reason markers",
        "",
        "A worker has stopped, and what it left is safe.",
    ),
    define_kind(
        "worker.torn_down",
        "worker_id policy removed leftovers",
        "due_at",
        "The sandbox of a stopped worker was removed.",
    ),
)
