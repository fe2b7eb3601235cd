"""What a runtime's journal tells of its agents, read into the lifecycle's words.

Entries that do not fit mean nothing here; whether they become events is the journal's business.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from atoll.domain.agent.resumable import AgentSeat, Otherwise
from atoll.domain.sandbox.stimulus import (
    AgentConversed,
    AgentLeft,
    AgentSat,
    AgentWord,
    Instructed,
    RuntimeBegan,
)
from atoll.domain.terminal.softlock import Strictness
from atoll.wire.http.unreadable import UNREADABLE

_Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]


class _Conversed(msgspec.Struct):
    id: _Id
    conversation: str


class _Left(msgspec.Struct):
    id: _Id


class _Instructed(msgspec.Struct):
    instructions_id: int


class _Sat(msgspec.Struct):
    id: _Id
    agent: Annotated[str, msgspec.Meta(max_length=256)]
    mode: Annotated[str, msgspec.Meta(max_length=16)]
    name: Annotated[str, msgspec.Meta(max_length=256)] | None = None
    cwd: Annotated[str, msgspec.Meta(max_length=4096)] | None = None
    by: Annotated[str, msgspec.Meta(max_length=256)] | None = None
    asks: bool = False
    otherwise: Otherwise = Otherwise.NEVER
    conversation: str | None = None
    softlock: Strictness = Strictness.OWNER


def read_word(kind: str, payload: Mapping[str, object]) -> AgentWord | Instructed | None:
    """The word in an entry; None for one that is none."""
    try:
        match kind:
            case "agent.started":
                sat = msgspec.convert(payload, _Sat)
                return AgentSat(msgspec.convert(sat, AgentSeat, from_attributes=True))
            case "agent.conversation":
                told = msgspec.convert(payload, _Conversed)
                return AgentConversed(told.id, told.conversation)
            case "agent.instructed":
                return Instructed(msgspec.convert(payload, _Instructed).instructions_id)
            case "agent.ended":
                return AgentLeft(msgspec.convert(payload, _Left).id)
            case "runtime.began":
                return RuntimeBegan()
            case _:
                return None
    except UNREADABLE:
        return None
