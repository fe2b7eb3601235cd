"""Events in the life of a sandbox, as values: requests, deadlines and reports.

`domain.sandboxes.lifecycle` decides on each. A report carries the generation it is about.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from atoll.domain.agents.resumable import RunningAgent
from atoll.domain.event import Json
from atoll.domain.hosts.relocation import Relocation
from atoll.domain.ids import PrincipalId, SnapshotId
from atoll.domain.network.switch import NetworkChange
from atoll.domain.sandboxes.project import SandboxProject
from atoll.domain.sandboxes.sandbox import Attachment, Sandbox, SandboxRepo
from atoll.domain.sandboxes.task import Task


@dataclass(frozen=True, slots=True)
class Requested:
    """The request for a new sandbox."""


@dataclass(frozen=True, slots=True)
class Queued:
    """A report of how many queued tasks come before this sandbox's."""

    before: int


@dataclass(frozen=True, slots=True)
class Reached:
    """A report that the runtime answered the probe and the workspace is laid out.

    `repos` are the repositories with what laying them out found; None when there were none.
    `instructions` are those that were read there; `task` and `project` are as they then were.
    """

    generation: int
    attachment: Attachment
    repos: tuple[SandboxRepo, ...] | None = None
    instructions: str | None = None
    task: Task | None = None
    project: SandboxProject | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """A report that the old workspace of a recreated sandbox was saved and removed."""

    generation: int


@dataclass(frozen=True, slots=True)
class Broke:
    """A report that provisioning failed, or that the runtime or wall ended by itself."""

    generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rerouted:
    """A report that its backend could not bring it up, for a `reason`, that nothing of it stands
    there, and that another one is to try."""

    generation: int
    extension: str
    host: str
    reason: str
    region: str = ""


@dataclass(frozen=True, slots=True)
class Touched:
    """A report of input, an exec or a file change. Watching is not activity."""


@dataclass(frozen=True, slots=True)
class Due:
    """A deadline that may have passed: the time to live, the warning before, or the retention."""


@dataclass(frozen=True, slots=True)
class Idle:
    """A report of how long nothing happened.

    `idle_seconds` without input, exec or file change; `unused_seconds` also without a turn, a
    request at a door or a forwarded port.
    """

    idle_seconds: float
    unused_seconds: float


@dataclass(frozen=True, slots=True)
class Stop:
    """A request to end its processes and keep its workspace."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """A request to let it sleep: its processes end, its workspace and its screens are kept."""


@dataclass(frozen=True, slots=True)
class WakeUp:
    """An access to a sandbox that sleeps. One that does not sleep any more stays as it is."""


@dataclass(frozen=True, slots=True)
class Start:
    """A request to start a stopped or expired sandbox, or a failed one that had been ready.

    Its workspace was kept. `resume_agents`: whether the agents that ran are resumed; None takes the
    profile's value.
    """

    resume_agents: bool | None = None


@dataclass(frozen=True, slots=True)
class Recreate:
    """A request to provision afresh under the same id; with `seed` as that snapshot of it was, when
    it was the sandbox `source`."""

    seed: SnapshotId | None = None
    source: Sandbox | None = None


@dataclass(frozen=True, slots=True)
class Destroy:
    """A request to remove it permanently. `kept_at` names where its files were written first, if
    they were."""

    kept_at: str | None = None


@dataclass(frozen=True, slots=True)
class Pulled:
    """A report that a person brought the commits of repository number `repo` up to `commit`
    outside."""

    repo: int
    commit: str


@dataclass(frozen=True, slots=True)
class AcceptEnd:
    """A person's decision to let it end when its time is over."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A request to put it away: it stops, and keeps its files for as long as it is archived."""


@dataclass(frozen=True, slots=True)
class Revive:
    """A request to take an archived one up again: it starts, with a whole time to live."""


@dataclass(frozen=True, slots=True)
class ExtendTtl:
    """A request to extend its time."""

    seconds: int


@dataclass(frozen=True, slots=True)
class ConsumerEnded:
    """The end of the session, run or job that it belongs to; `facts` are what the log says of that
    consumer."""

    facts: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChildMade:
    """A report that a child was made from inside it, or from inside a child of it."""


@dataclass(frozen=True, slots=True)
class ParentEnded:
    """A report that the sandbox from whose inside it was made, named `name`, does not run any
    more."""

    name: str


@dataclass(frozen=True, slots=True)
class SwitchNetwork:
    """A request to change what it may reach."""

    change: NetworkChange


@dataclass(frozen=True, slots=True)
class TornDown:
    """A report that a teardown is done: what it removed and what is left over. `kept`: the files
    stayed for the next start."""

    generation: int
    removed: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    kept: bool = False


@dataclass(frozen=True, slots=True)
class TeardownFailed:
    """A report that a teardown failed; it will be retried. With `leftovers`, which stand then, that
    happens only once the host is trusted again, or when somebody requests it."""

    generation: int
    reason: str
    leftovers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exposed:
    """A record that the values of these secrets, by name, go inside: made before they do."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Instructed:
    """A report that an agent of this generation has the instructions."""

    generation: int


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """A report that an agent was started."""

    agent: RunningAgent


@dataclass(frozen=True, slots=True)
class AgentConversed:
    """A report of the conversation that an agent has."""

    agent_id: str
    conversation: str


@dataclass(frozen=True, slots=True)
class AgentEnded:
    """A report that an agent ended, or was stopped, while the sandbox ran on."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class RuntimeBegan:
    """A report that another runtime began: nothing that ran before runs any more."""


@dataclass(frozen=True, slots=True)
class TaskBegan:
    """A report that the agent of a waiting task was started in this generation, or why not: `task`
    is as it then was."""

    generation: int
    task: Task


@dataclass(frozen=True, slots=True)
class SetupBegan:
    """A report that the set-up of its project runs in a terminal."""

    terminal_id: str


@dataclass(frozen=True, slots=True)
class SetupEnded:
    """A report that the terminal of a set-up ended. `reason` None means that it succeeded. A
    report about any other terminal changes nothing."""

    terminal_id: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class PrebuildSettled:
    """A report that the disk was kept under the key of a prebuild, or will not be."""

    key: str


@dataclass(frozen=True, slots=True)
class ServersBegan:
    """A report that the servers of its project run in the runtime that was ready then."""

    ready_at: datetime


@dataclass(frozen=True, slots=True)
class Give:
    """A request to give it to another owner."""

    owner: PrincipalId


@dataclass(frozen=True, slots=True)
class Evacuate:
    """A request to have its files at another host, by name."""

    target: str


@dataclass(frozen=True, slots=True)
class Relocated:
    """A report that all files are at the target, too."""

    relocation: Relocation


@dataclass(frozen=True, slots=True)
class RelocationEnded:
    """A report that the source is emptied. `leftovers` may stand there still, each a sentence."""

    relocation: Relocation
    leftovers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RelocationFailed:
    """A report that the files stay at the source. `leftovers` may stand at the target."""

    relocation: Relocation
    reason: str
    leftovers: tuple[str, ...] = ()


AgentReport = AgentStarted | AgentConversed | AgentEnded | RuntimeBegan
"""The reports of a runtime about its agents."""

Stimulus = (
    Requested
    | Queued
    | Reached
    | Renewed
    | Broke
    | Rerouted
    | Touched
    | Due
    | Idle
    | Stop
    | Sleep
    | WakeUp
    | Start
    | Recreate
    | Destroy
    | ExtendTtl
    | AcceptEnd
    | Archive
    | Revive
    | ConsumerEnded
    | ChildMade
    | ParentEnded
    | SwitchNetwork
    | Pulled
    | Give
    | Evacuate
    | Relocated
    | RelocationEnded
    | RelocationFailed
    | TornDown
    | TeardownFailed
    | Exposed
    | Instructed
    | AgentStarted
    | AgentConversed
    | AgentEnded
    | RuntimeBegan
    | TaskBegan
    | SetupBegan
    | ServersBegan
    | SetupEnded
    | PrebuildSettled
)
