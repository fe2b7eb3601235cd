"""Reports about agents and set-ups in a runtime's journal, as stimuli of the sandbox's lifecycle.

Entries that do not match are ignored here; `journals` decides which become events.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from atoll.domain.agents.resumable import ResumeFallback, RunningAgent
from atoll.domain.sandboxes.project import failure_of
from atoll.domain.sandboxes.stimulus import (
    AgentConversed,
    AgentEnded,
    AgentReport,
    AgentStarted,
    Instructed,
    RuntimeBegan,
    SetupEnded,
)
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.terminals import Strictness

_Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]


class _Conversed(msgspec.Struct):
    id: _Id
    conversation: str


class _Left(msgspec.Struct):
    id: _Id


class _Instructed(msgspec.Struct):
    instructions_id: int


class _Started(msgspec.Struct):
    id: _Id
    agent: Annotated[str, msgspec.Meta(max_length=256)]
    mode: Annotated[str, msgspec.Meta(max_length=16)]
    name: Annotated[str, msgspec.Meta(max_length=256)] | None = None
    cwd: Annotated[str, msgspec.Meta(max_length=4096)] | None = None
    by: Annotated[str, msgspec.Meta(max_length=256)] | None = None
    asks: bool = False
    otherwise: ResumeFallback = ResumeFallback.NEVER
    conversation: str | None = None
    softlock: Strictness = Strictness.OWNER


class _Exited(msgspec.Struct):
    id: _Id
    exit: dict[str, int | str]


def read_report(
    kind: str, payload: Mapping[str, object]
) -> AgentReport | Instructed | SetupEnded | None:
    """Return the report in an entry; None where the entry is not one."""
    try:
        match kind:
            case "agent.started":
                started = msgspec.convert(payload, _Started)
                return AgentStarted(msgspec.convert(started, RunningAgent, from_attributes=True))
            case "agent.conversation":
                report = msgspec.convert(payload, _Conversed)
                return AgentConversed(report.id, report.conversation)
            case "agent.instructed":
                return Instructed(msgspec.convert(payload, _Instructed).instructions_id)
            case "agent.ended":
                return AgentEnded(msgspec.convert(payload, _Left).id)
            case "terminal.exited":
                exited = msgspec.convert(payload, _Exited)
                return SetupEnded(exited.id, failure_of(exited.exit))
            case "runtime.began":
                return RuntimeBegan()
            case _:
                return None
    except UNREADABLE:
        return None
