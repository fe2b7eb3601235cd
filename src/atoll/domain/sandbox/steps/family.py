"""Steps between a sandbox and those that were made from inside it."""

from datetime import datetime

from atoll.domain.sandbox.child import child_made
from atoll.domain.sandbox.sandbox import RUNNING, Sandbox, State
from atoll.domain.sandbox.steps.asked import destroy, stop_running
from atoll.domain.sandbox.steps.outcome import Outcome
from atoll.domain.sandbox.stimulus import ChildMade, ParentEnded

_COMING = frozenset({State.REQUESTED, State.PROVISIONING})


def family(sandbox: Sandbox, stimulus: ChildMade | ParentEnded, now: datetime) -> Outcome:
    """Return the outcome of a child that was made, or of a parent that ended. A child that runs
    stops and keeps its files; one that was never ready goes."""
    match stimulus:
        case ChildMade():
            return child_made(sandbox, now), ()
        case ParentEnded(name):  # pragma: no branch - the cases are all
            if sandbox.state in RUNNING:
                return stop_running(sandbox, now, reason=f"Its parent {name} does not run.")
            if sandbox.state in _COMING and sandbox.ready_at is None:
                return destroy(sandbox, now, kept_at=None)
            return sandbox, ()
