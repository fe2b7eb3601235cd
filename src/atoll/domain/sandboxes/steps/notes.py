"""Steps that only note a fact: a pull, exposed secrets, instructions, a queue, an accepted end."""

from dataclasses import replace

from atoll.domain.sandboxes.instruction import Append
from atoll.domain.sandboxes.lifetime import end_of, end_waits
from atoll.domain.sandboxes.sandbox import PulledTip, Sandbox
from atoll.domain.sandboxes.steps.outcome import Outcome, end_facts
from atoll.domain.sandboxes.stimulus import (
    AcceptEnd,
    Exposed,
    Instructed,
    Pulled,
    Queued,
)
from atoll.domain.sandboxes.task_queue import is_queued
from atoll.wire.words.sandboxes import State

MAX_PULLED = 64
"""The number of commits remembered as pulled; the newest are kept."""


def step_note(
    sandbox: Sandbox, stimulus: Exposed | Pulled | Instructed | Queued | AcceptEnd
) -> Outcome:
    """Return the sandbox with a fact noted."""
    match stimulus:
        case AcceptEnd():
            if not end_waits(sandbox):
                return sandbox, ()
            accepted = replace(sandbox, end_accepted=end_of(sandbox))
            return accepted, (Append("sandbox.end_accepted", None, end_facts(sandbox)),)
        case Exposed(names):
            return _expose(sandbox, names)
        case Queued(before):
            return _move_up(sandbox, before)
        case Pulled(repo, commit):
            return _pull(sandbox, PulledTip(repo, commit))
        case Instructed(generation):  # pragma: no branch - the cases are all
            # A recreate gives the instructions again, whatever the former generation's journal
            # recorded.
            known = sandbox.instructed or generation != sandbox.generation
            return (sandbox if known else replace(sandbox, instructed=True)), ()


def _move_up(sandbox: Sandbox, before: int) -> Outcome:
    if sandbox.task is None or not is_queued(sandbox) or sandbox.task.before == before:
        return sandbox, ()
    moved = replace(sandbox, task=replace(sandbox.task, before=before))
    return moved, (Append("task.queued", None, {"before": before}),)


def _expose(sandbox: Sandbox, names: tuple[str, ...]) -> Outcome:
    """Record exposed secrets: their values stay known inside until everything of that life is
    gone."""
    both = tuple(sorted({*sandbox.exposed_secrets, *names}))
    if both == sandbox.exposed_secrets:
        return sandbox, ()
    event = Append("sandbox.exposed", None, {"names": [*both]})
    return replace(sandbox, exposed_secrets=both), (event,)


def _pull(sandbox: Sandbox, tip: PulledTip) -> Outcome:
    if tip in sandbox.pulled or sandbox.state in (State.DESTROYING, State.DESTROYED):
        return sandbox, ()
    known = replace(sandbox, pulled=(*sandbox.pulled, tip)[-MAX_PULLED:])
    return known, (Append("sandbox.pulled", None, {"repo": tip.repo, "commit": tip.commit}),)
