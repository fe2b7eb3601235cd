"""An agent as its runtime last reported it, and in which order a person looks at agents.

Pure. `AGENTS` derives it from the log. The report crosses a trust boundary: what does not fit its
bounds is ignored.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

import msgspec
from msgspec.structs import replace

from atoll.domain.agents.status import first_status, when_sandbox_ended
from atoll.domain.event import Event, sandbox_stream
from atoll.domain.projection import ModelState, Projection
from atoll.domain.sandboxes.sandbox import KEPT, RUNNING, Sandbox
from atoll.wire.contract.agents import StatusKind, StatusRecord
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.sandboxes import State

MAX_REPORTED_AGENTS = 80
MAX_TEXT = 2000

ORDER: tuple[StatusKind, ...] = ("needs_you", "failed", "done", "working", "idle", "stopped")
"""The statuses, those that concern their person most first."""

_LASTING: frozenset[StatusKind] = frozenset({"needs_you", "done", "idle"})
"""The statuses that an agent keeps while its sandbox sleeps: it goes on from there."""

_REPORTS = frozenset({"agent.started", "agent.status"})
_ENDINGS = frozenset({"agent.forgotten", "sandbox.destroyed"})

_Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
_Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=256)]


class ReportedAgent(msgspec.Struct, frozen=True):
    """An agent of a sandbox, and what it does. `mode` is `tui` or `machine`."""

    id: str
    agent: str
    mode: str
    status: StatusRecord


class _Heading(msgspec.Struct):
    """The agent that an entry is about."""

    id: _Id
    agent: _Name
    mode: Annotated[str, msgspec.Meta(max_length=16)]


def read_status(kind: str, payload: Mapping[str, object], at: str) -> ReportedAgent | None:
    """Return the agent of a journal entry written at `at`; None where the entry reports none."""
    if kind not in _REPORTS:
        return None
    try:
        about = msgspec.convert(payload, _Heading)
        if kind == "agent.started":
            status = first_status(at)
        else:
            status = msgspec.convert(payload, StatusRecord)
    except UNREADABLE:
        return None
    texts = (status.on, status.question, status.card, status.reason, status.since)
    if any(len(text) > MAX_TEXT for text in texts):
        return None
    return ReportedAgent(about.id, about.agent, about.mode, status)


_agents = msgspec.json.Decoder(list[ReportedAgent])


def read_agents(body: str | None) -> list[ReportedAgent]:
    """Return the agents in a state of `AGENTS`; the one that changed last comes last."""
    return [] if body is None else _agents.decode(body)


def _fold(body: str | None, event: Event) -> str | None:
    """Return the agents of a sandbox after an event: at most `MAX_REPORTED_AGENTS`, of which the
    ones that changed longest ago go first."""
    if event.event_type in _ENDINGS:
        return None
    agent = read_status(event.event_type, event.payload, _timestamp(event.at))
    if agent is None:
        return body
    others = [one for one in read_agents(body) if one.id != agent.id]
    kept = [*others[-(MAX_REPORTED_AGENTS - 1) :], agent]
    return msgspec.json.encode(kept).decode()


AGENTS = Projection("agents", _REPORTS | _ENDINGS, _fold)
"""The read model of what agents do: the last status of each, by sandbox."""


def present_agents(
    sandbox: Sandbox, reported: Iterable[ReportedAgent]
) -> tuple[ReportedAgent, ...]:
    """Return the agents of a sandbox as they are now, in their order. One that has reported
    nothing yet is idle; one whose sandbox does not run works no more."""
    agents = {one.id: one for one in reported}
    for running in sandbox.agents:
        started = ReportedAgent(
            running.id, running.agent, running.mode, first_status(_change_time(sandbox))
        )
        agents.setdefault(running.id, started)
    found = [_as_its_sandbox(sandbox, one) for one in agents.values()]
    return tuple(sorted(found, key=lambda one: urgency(one.status)))


def agents_in(sandbox: Sandbox, states: Mapping[str, ModelState]) -> tuple[ReportedAgent, ...]:
    """Return the agents of a sandbox as they are now, from states of `AGENTS` by stream."""
    state = states.get(sandbox_stream(sandbox.id))
    return present_agents(sandbox, read_agents(None if state is None else state.body))


def urgency(status: StatusRecord) -> tuple[int, str]:
    """Return the key by which agents are sorted: who needs its person longest comes first."""
    return ORDER.index(status.status), status.since


def _as_its_sandbox(sandbox: Sandbox, agent: ReportedAgent) -> ReportedAgent:
    if sandbox.state in RUNNING or sandbox.state is State.PROVISIONING:
        return agent
    if sandbox.asleep and agent.status.status in _LASTING:
        return agent
    failed = sandbox.state is State.FAILED
    reason = sandbox.reason if sandbox.state in KEPT and sandbox.reason else ""
    reason = reason or f"Its sandbox is {sandbox.state}."
    ended = when_sandbox_ended(agent.status, failed=failed, reason=reason, at=_change_time(sandbox))
    return replace(agent, status=ended)


def _change_time(sandbox: Sandbox) -> str:
    """Return when the sandbox last changed, as text."""
    return _timestamp(sandbox.updated_at)


def _timestamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
