"""A bring-up: the value that its steps fill, one after the other.

The steps are classes of `services.provisioning.steps`; `wiring.control.lifecycle` lists them in
their order. A step writes nothing down: what came of all is one stimulus.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from atoll.domain.sandboxes.sandbox import Attachment, Sandbox
from atoll.domain.sandboxes.stimulus import Reached
from atoll.domain.sandboxes.task import Task
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.ports import Extension, Mount, Provision, Reachability, RuntimeClient
from atoll.ports.telemetry.metrics import Metric
from atoll.services.policies.policies import ComposedPolicy
from atoll.services.provisioning.inside_agents import InsideAgents
from atoll.services.telemetry import Telemetry
from atoll.wire.contract.screens import KeptScreen

PHASE_SECONDS = Metric(
    "atoll_sandbox_phase_seconds",
    "Time of a phase of bringing a sandbox up that ended well.",
    ("phase",),
    (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
"""Phases: `repositories` (fetched into the shelf), `wall` (until the runtime answers), `workspace`
(laid out inside), `agents` (their files, and those that go on)."""

Report = Callable[[str], None]


@dataclass(slots=True, repr=False)
class BringUp:
    """A bring-up under way. Fields without a value are filled by the step that their comment
    names; a step that reads one too early raises `AttributeError`. `sandbox` grows with its steps:
    by its repositories, its instructions and its project."""

    sandbox: Sandbox
    extension: Extension
    report: Report
    telemetry: Telemetry
    fresh: bool
    changes: int = field(init=False)  # PolicyComposition: changes that `policy` takes into account
    policy: ComposedPolicy = field(init=False)  # PolicyComposition
    inside: InsideAgents = field(init=False)  # AgentChoice
    mounts: tuple[Mount, ...] = field(init=False)  # Mounts
    request: Provision = field(init=False)  # BackendRequest
    prebuild: Snapshot | None = None  # PrebuildChoice
    reach: Reachability = field(init=False)  # Wall
    client: RuntimeClient = field(init=False)  # Wall
    attachment: Attachment = field(init=False)  # Wall
    instructions: str | None = None  # RepositoryInstructions: read from a file just now
    screens: Mapping[str, KeptScreen] = field(default_factory=dict)  # ScreenRead: by terminal
    returned: set[str] = field(default_factory=set)  # AgentStart: terminals that agents went on in
    task: Task | None = None  # TaskStart

    def phase(self, name: str) -> AbstractContextManager[object]:
        """Time a phase."""
        return self.telemetry.timed(f"provision.{name}", PHASE_SECONDS, name)

    def reached(self, generation: int) -> Reached:
        """Return the outcome of a bring-up whose steps have all run."""
        sandbox = self.sandbox
        return Reached(
            generation,
            self.attachment,
            sandbox.repos,
            self.instructions,
            self.task,
            sandbox.project,
        )


class BringUpStep(Protocol):
    """Step of a bring-up."""

    async def run(self, up: BringUp) -> None:
        """Do this step, and fill in what came of it. Raises what the ports raise: `Invalid`,
        `Unavailable`, `Failed`; `BackendFailed` for a wall that a backend did not bring up."""
        ...


class BringUpSteps:
    """The steps between a sandbox on paper and one whose runtime answers."""

    def __init__(
        self,
        extension_of: Callable[[Sandbox], Extension],
        telemetry: Telemetry,
        steps: Sequence[BringUpStep],
    ) -> None:
        self._extension_of = extension_of
        self._telemetry = telemetry
        self._steps = steps

    async def run(self, sandbox: Sandbox, report: Report, *, fresh: bool) -> BringUp:
        """Bring a sandbox up; `fresh` drops its kept workspace first. Raises what a step raises."""
        up = BringUp(sandbox, self._extension_of(sandbox), report, self._telemetry, fresh)
        for step in self._steps:
            await step.run(up)
        report("Ready.")
        return up
