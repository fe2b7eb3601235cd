"""The life of a sandbox, as a pure state machine.

`step` takes what happened and returns the sandbox as it now is and what to do; it never waits,
reads a clock or touches a host. `services.sandboxes.reconciler` performs the instructions, in
order, and reports back with further stimuli.

Reports carry the generation they are about; one that comes too late (the sandbox has moved on)
changes nothing.
"""

from datetime import datetime

from atoll.domain.sandboxes.sandbox import (
    Sandbox,
)
from atoll.domain.sandboxes.steps.archive import step_archive
from atoll.domain.sandboxes.steps.in_time import step_time
from atoll.domain.sandboxes.steps.inside import step_agents, step_setup
from atoll.domain.sandboxes.steps.notes import step_note
from atoll.domain.sandboxes.steps.outcome import Outcome
from atoll.domain.sandboxes.steps.relocation import step_relocation
from atoll.domain.sandboxes.steps.reports import step_report
from atoll.domain.sandboxes.steps.requests import step_request
from atoll.domain.sandboxes.steps.sleep import step_sleep
from atoll.domain.sandboxes.stimulus import (
    AcceptEnd,
    AgentConversed,
    AgentEnded,
    AgentStarted,
    Archive,
    Broke,
    ChildMade,
    ConsumerEnded,
    Destroy,
    Due,
    Evacuate,
    Exposed,
    ExtendTtl,
    Give,
    Idle,
    Instructed,
    ParentEnded,
    PrebuildSettled,
    Pulled,
    Queued,
    Reached,
    Recreate,
    Relocated,
    RelocationEnded,
    RelocationFailed,
    Renewed,
    Requested,
    Rerouted,
    Revive,
    RuntimeBegan,
    ServersBegan,
    SetupBegan,
    SetupEnded,
    Sleep,
    Start,
    Stimulus,
    Stop,
    SwitchNetwork,
    TaskBegan,
    TeardownFailed,
    TornDown,
    Touched,
    WakeUp,
)


def step(sandbox: Sandbox, stimulus: Stimulus, now: datetime) -> Outcome:
    """Return the sandbox after a stimulus, and the instructions to perform.

    An unchanged sandbox with no instruction means that nothing happened. Raises `Conflict` when its
    state does not allow the act.
    """
    match stimulus:
        case Stop() | Start() | Recreate() | Destroy() | ExtendTtl() | SwitchNetwork() | Give():
            return step_request(sandbox, stimulus, now)
        case Due() | Idle() | Touched() | ConsumerEnded() | ChildMade() | ParentEnded():
            return step_time(sandbox, stimulus, now)
        case Exposed() | Pulled() | Instructed() | Queued() | AcceptEnd():
            return step_note(sandbox, stimulus)
        case SetupBegan() | SetupEnded() | PrebuildSettled() | ServersBegan() | TaskBegan():
            return step_setup(sandbox, stimulus)
        case AgentStarted() | AgentConversed() | AgentEnded() | RuntimeBegan():
            return step_agents(sandbox, stimulus)
        case (
            Sleep()
            | WakeUp()
            | Archive()
            | Revive()
            | Evacuate()
            | Relocated()
            | RelocationEnded()
            | RelocationFailed()
        ):
            return _step_place(sandbox, stimulus, now)
        case (
            Requested()
            | Reached()
            | Renewed()
            | Broke()
            | Rerouted()
            | TornDown()
            | TeardownFailed()
        ):  # pragma: no branch - the cases are all
            return step_report(sandbox, stimulus, now)


def _step_place(
    sandbox: Sandbox,
    stimulus: Sleep
    | WakeUp
    | Archive
    | Revive
    | Evacuate
    | Relocated
    | RelocationEnded
    | RelocationFailed,
    now: datetime,
) -> Outcome:
    """Return the outcome of what puts a sandbox away or brings it back, or moves it to another
    host."""
    match stimulus:
        case Sleep() | WakeUp():
            return step_sleep(sandbox, stimulus, now)
        case Archive() | Revive():
            return step_archive(sandbox, stimulus, now)
        case Evacuate() | Relocated() | RelocationEnded() | RelocationFailed():  # pragma: no branch
            return step_relocation(sandbox, stimulus, now)
