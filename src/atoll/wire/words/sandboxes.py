"""Words and bounds of sandboxes."""

from enum import StrEnum
from typing import Final

MAX_MOUNTS: Final = 16
MAX_COMPOSE_BYTES: Final = 65536
"""The size of a compose file."""

MAX_ENV: Final = 200
MAX_REFS: Final = 100
MAX_SPARSE: Final = 100
MAX_COPIES: Final = 100

MAX_INSTRUCTIONS: Final = 64 * 1024
"""The bound in bytes; as a first prompt they become one word of an argv (execve(2),
MAX_ARG_STRLEN)."""

MAX_TASK_PROMPT: Final = 64 * 1024
"""The bound on a task's words in bytes."""

MAX_WORKING: Final = 1000
"""The bound on the tasks of a caller that work at once."""

MAX_SANDBOX_PAGE: Final = 200
"""The most sandboxes of a page."""

MAX_CONSUMERS: Final = 200
"""The consumers whose usage is answered at once."""

MAX_LOG_LINES: Final = 2000
"""The newest lines of a provisioning log that are answered."""

MAX_SNAPSHOTS: Final = 200
"""The snapshots that a person keeps at once."""

MAX_FORKS: Final = 100
"""The sandboxes that one fork makes."""


class State(StrEnum):
    """The state of a sandbox. `ready`: its runtime answered; `active`: something ran in it."""

    REQUESTED = "requested"
    PROVISIONING = "provisioning"
    READY = "ready"
    ACTIVE = "active"
    STOPPED = "stopped"
    EXPIRED = "expired"
    FAILED = "failed"
    DESTROYING = "destroying"
    DESTROYED = "destroyed"


class Scope(StrEnum):
    """The end of a sandbox, and who shares it.

    `session`: it ends with its consumer's session. `agent`: it is the consumer's only one.
    `shared`: its organization's members may attach, by their role.
    """

    SESSION = "session"
    AGENT = "agent"
    SHARED = "shared"


class Access(StrEnum):
    """The access of the sandbox to its workspace."""

    NONE = "none"
    READ_ONLY = "ro"
    READ_WRITE = "rw"


class WorkspaceMode(StrEnum):
    """The authoritative copy of a workspace: the caller's (`mirror`) or the sandbox's
    (`remote-canonical`)."""

    MIRROR = "mirror"
    REMOTE_CANONICAL = "remote-canonical"

    @classmethod
    def _missing_(cls, value: object) -> "WorkspaceMode | None":
        """Return the mode that a short word means: `remote` is `remote-canonical`."""
        return cls.REMOTE_CANONICAL if value == "remote" else None


class IdleAction(StrEnum):
    """The end that idleness brings: `reap` expires a sandbox; `stop` ends its processes; `sleep`
    does that too, keeps its terminals' screens, and lets an access wake it."""

    REAP = "reap"
    STOP = "stop"
    SLEEP = "sleep"


class WakePolicy(StrEnum):
    """The uses that wake a sleeping sandbox: every `access`, those of a `person` alone, or `never`
    any but a start."""

    ACCESS = "access"
    PERSON = "person"
    NEVER = "never"


class SetupState(StrEnum):
    """The state of a set-up. `none`: there are no commands; `waiting`: they did not start."""

    NONE = "none"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class AgentMode(StrEnum):
    """The mode of an agent: at a terminal, or as a machine that is driven by programs."""

    TUI = "tui"
    MACHINE = "machine"


class TaskState(StrEnum):
    """The state of a task. `queued`: as many work as their person wants; `waiting`: the sandbox is
    not ready, or its set-up has not succeeded; `given`: its agent has the words; `failed`: the
    agent could not be started."""

    QUEUED = "queued"
    WAITING = "waiting"
    GIVEN = "given"
    FAILED = "failed"


class WorkState(StrEnum):
    """The state of the work in a sandbox, which is shown before the sandbox's own.

    `queued`: it has not begun. `needs_you`: an agent asks, or could not go on. `to_review`: a turn
    ended, and nobody has reviewed its result. `in_conflict`: a rebase or merge stopped. `reviewed`,
    `merged`, `pr_open` and `pr_merged` last until the work changes. `archived`: it is put away.
    """

    QUEUED = "queued"
    WORKING = "working"
    NEEDS_YOU = "needs_you"
    TO_REVIEW = "to_review"
    IN_CONFLICT = "in_conflict"
    REVIEWED = "reviewed"
    MERGED = "merged"
    PR_OPEN = "pr_open"
    PR_MERGED = "pr_merged"
    ARCHIVED = "archived"


class SnapshotState(StrEnum):
    """The state of a snapshot."""

    MAKING = "making"
    READY = "ready"
    FAILED = "failed"
    REMOVING = "removing"


class CheckpointEnd(StrEnum):
    """An end after which a snapshot is taken by itself: the sandbox's, or that of an agent's
    turn."""

    STOP = "stop"
    SLEEP = "sleep"
    EXPIRE = "expire"
    TURN = "turn"


class SnapshotMode(StrEnum):
    """The part of a sandbox that a snapshot keeps: its files, or all that runs in it, too."""

    FILESYSTEM = "filesystem"
    FULL = "full"


class MemoryMode(StrEnum):
    """The wish to keep what runs, too: where the backend can, in any case, or not."""

    AUTO = "auto"
    REQUIRED = "required"
    NO = "no"


class DiskPromise(StrEnum):
    """The state that files are kept in: as after a loss of power, or as after all that was written
    had reached the disk."""

    CRASH = "crash"
    QUIESCED = "quiesced"


class Conversation(StrEnum):
    """The fate of the agent's conversation in a copy: it goes on, the agent begins anew, or no
    agent starts."""

    CONTINUE = "continue"
    FRESH = "fresh"
    NONE = "none"
