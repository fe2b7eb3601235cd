"""Words and bounds of workers, of what their hosts deliver, and of linked desktops."""

from enum import StrEnum
from typing import Final

MAX_WORKER_REPOS: Final = 20
"""The number of repositories of a worker."""

MOST_METADATA: Final = 32
LONGEST_METADATA: Final = 512

MAX_WAIT_MS: Final = 60_000
"""The longest wait for a receipt."""

MAX_TAIL_MS: Final = 60_000
"""The longest time for which a stream that ends is followed."""

MAX_WORKER_PLACES: Final = 1000
"""The number of an organization's backends and places that are listed."""

MAX_ITEMS: Final = 500
MAX_BATCH_BYTES: Final = 16 * 1024 * 1024
"""A line of an agent has at most 4 MiB, and its JSON is text here."""

MAX_BATCH_VALUES: Final = 50_000
"""The values of a batch, those in the texts of its lines not counted."""

MAX_NUMBER: Final = 2**53
MAX_DELTAS: Final = 100
MAX_PIECES: Final = 1000
MAX_DELTA: Final = 64 * 1024
"""The characters of one piece of text, with its params; a longer one is not shown live."""

MAX_DESKTOPS: Final = 20
"""The desktops of one person."""

MOST_NOTES: Final = 32
LONGEST_NOTE: Final = 200

MOST_ARTIFACTS: Final = 200
"""The artifacts of one worker."""

LONGEST_ARTIFACT_NAME: Final = 255
LARGEST_ARTIFACT: Final = 2**32 - 1
"""The bytes of one artifact."""

LONGEST_EVENT_NAME: Final = 128
"""The length of the name of a service's event."""

SUMMARIES: Final = "worker_summaries"
"""The name of the read model of workers."""


class Permissions(StrEnum):
    """The acts of an agent without a question: all, or none that needs an approval."""

    ALLOW = "allow"
    ASK = "ask"


class TeardownPolicy(StrEnum):
    """The fate of a stopped worker's sandbox."""

    IMMEDIATE = "immediate"
    RETAIN = "retain"


class WorkerStatus(StrEnum):
    """The state of a worker, as everybody sees it."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


class HeartbeatState(StrEnum):
    """The state of a heartbeat, by its age; `missing` is lost."""

    FRESH = "fresh"
    STALE = "stale"
    MISSING = "missing"
    STOPPED = "stopped"
    FAILED = "failed"


class ErrorCode(StrEnum):
    """Why a request has no result."""

    FORBIDDEN = "forbidden"
    INVALID_REQUEST = "invalid_request"
    UNSUPPORTED_METHOD = "unsupported_method"
    CONFLICT = "conflict"
    WORKER_UNAVAILABLE = "worker_unavailable"
    TIMEOUT = "timeout"
    INTERNAL_ERROR = "internal_error"
    OUTCOME_UNKNOWN = "outcome_unknown"

    @property
    def retryable(self) -> bool:
        """Report whether the same request, under a new id, may work later without doing twice
        what was asked."""
        return self is ErrorCode.WORKER_UNAVAILABLE


class SummaryStatus(StrEnum):
    """`in_sync`: it has the newest event of the stream. `lagging`: it does not yet."""

    IN_SYNC = "in_sync"
    LAGGING = "lagging"
