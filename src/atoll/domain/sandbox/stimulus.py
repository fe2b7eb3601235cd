"""What can happen to a sandbox, as values: what people ask, what time does, what is reported.

What becomes of it is `domain.sandbox.lifecycle`. A report carries the generation it speaks of.
"""

from dataclasses import dataclass

from atoll.domain.agent.resumable import AgentSeat
from atoll.domain.network.switch import NetworkChange
from atoll.domain.sandbox.sandbox import Attachment, SandboxRepo


@dataclass(frozen=True, slots=True)
class Requested:
    """It was just asked for."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Its runtime answered the probe and its workspace is laid out. `repos` are its repositories
    with what laying them out told; None when nothing was. `instructions` are those that were
    read there."""

    generation: int
    attachment: Attachment
    repos: tuple[SandboxRepo, ...] | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """A recreate's old workspace was saved and dropped."""

    generation: int


@dataclass(frozen=True, slots=True)
class Broke:
    """Provisioning failed, or its runtime or wall ended by itself."""

    generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class Touched:
    """Input, an exec or a file change. Watching is not activity."""


@dataclass(frozen=True, slots=True)
class Due:
    """A deadline may have come: its time to live, the warning before, or its retention."""


@dataclass(frozen=True, slots=True)
class Idle:
    """The runtime reports how long nothing happened: `idle_seconds` without input, exec or
    file change, `unused_seconds` also without a turn, a request at a door or a forwarded port."""

    idle_seconds: float
    unused_seconds: float


@dataclass(frozen=True, slots=True)
class Stop:
    """End its processes, keep its workspace."""


@dataclass(frozen=True, slots=True)
class Start:
    """Bring up a stopped or expired one, or a failed one that had been ready: its workspace was
    kept.
    `resume_agents`: whether the agents that ran go on; None takes the profile's word."""

    resume_agents: bool | None = None


@dataclass(frozen=True, slots=True)
class Recreate:
    """Provision afresh under the same id."""


@dataclass(frozen=True, slots=True)
class Destroy:
    """Take it away for good. `kept_at` names where its files were written first, if they were."""

    kept_at: str | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """A person brought the commits of repository number `repo` up to `commit` outside."""

    repo: int
    commit: str


@dataclass(frozen=True, slots=True)
class ExtendTtl:
    """Add to its time."""

    seconds: int


@dataclass(frozen=True, slots=True)
class ConsumerEnded:
    """The session, run or job it belongs to is over."""


@dataclass(frozen=True, slots=True)
class SwitchNetwork:
    """Change what it may reach."""

    change: NetworkChange


@dataclass(frozen=True, slots=True)
class TornDown:
    """A teardown is done; what it removed and what it could not."""

    generation: int
    removed: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TeardownFailed:
    """A teardown did not work out; it will be tried again."""

    generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class Exposed:
    """The values of these secrets, by name, go inside: said before they do."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Instructed:
    """An agent of this generation has the instructions."""

    generation: int


@dataclass(frozen=True, slots=True)
class AgentSat:
    """An agent was started in it."""

    seat: AgentSeat


@dataclass(frozen=True, slots=True)
class AgentConversed:
    """An agent named the conversation it has."""

    seat_id: str
    conversation: str


@dataclass(frozen=True, slots=True)
class AgentLeft:
    """An agent ended, or was stopped, while the sandbox ran on."""

    seat_id: str


@dataclass(frozen=True, slots=True)
class RuntimeBegan:
    """Another runtime began: whatever ran before does not any more."""


AgentWord = AgentSat | AgentConversed | AgentLeft | RuntimeBegan
"""What a runtime tells of its agents."""

Stimulus = (
    Requested
    | Reached
    | Renewed
    | Broke
    | Touched
    | Due
    | Idle
    | Stop
    | Start
    | Recreate
    | Destroy
    | ExtendTtl
    | ConsumerEnded
    | SwitchNetwork
    | Pulled
    | TornDown
    | TeardownFailed
    | Exposed
    | Instructed
    | AgentSat
    | AgentConversed
    | AgentLeft
    | RuntimeBegan
)
