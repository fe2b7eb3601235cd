"""The methods that a worker takes, per agent, and the judgement of a request before it is sent.

An agent answers an unknown method and a missing field alike, so both are judged here. What no
table allows is refused.
"""

from collections.abc import Container, Mapping
from enum import StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

import msgspec

from atoll.domain.agents.acp.added import is_added
from atoll.domain.agents.registry import AGENTS
from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.workers import codex_methods
from atoll.wire.contract.workers import (
    RequestAnswer,
    RequestError,
    WorkerRequestBody,
    request_body,
)

THREAD_MS: Final = 30_000
"""The time that an agent has to say whether it knows a conversation."""


class MethodAccess(StrEnum):
    """The right that a method needs: to watch the worker, to drive it, or none that there is."""

    READ = "read"
    DRIVE = "drive"
    REFUSED = "refused"


Required = tuple[str, ...]
"""Fields that a request must have; one that ends in `?` may be null."""

Allowed = Mapping[str, tuple[MethodAccess, Required]]


def _table(read: str, drive: str) -> Allowed:
    """Return a table: a method and its required fields a line."""
    rows: dict[str, tuple[MethodAccess, Required]] = {}
    for needed_access, text in ((MethodAccess.READ, read), (MethodAccess.DRIVE, drive)):
        for line in filter(str.strip, text.splitlines()):
            method, *fields = line.split()
            rows[method] = needed_access, tuple(fields)
    return MappingProxyType(rows)


RESPOND: Final = "serverRequest/respond"
"""The method that answers a question of the agent, under our id."""

_RESPOND: Final = f"\n{RESPOND} server_request_id result"

_TRANSLATED: Final = _table(
    """
    thread/list
    thread/loaded/list
    thread/read threadId
    """,
    """
    thread/start
    thread/resume threadId
    turn/start threadId input
    turn/steer threadId input expectedTurnId
    turn/interrupt threadId turnId
    """
    + _RESPOND,
)

METHODS: Final[Mapping[str, Allowed]] = MappingProxyType(
    {
        "codex": _table(codex_methods.READ, codex_methods.DRIVE + _RESPOND),
        **{
            agent.name: _TRANSLATED
            for agent in AGENTS
            if agent.machine is not None and agent.machine.protocol != "codex"
        },
    }
)
"""Tables of the agents that a runtime drives as workers. Codex speaks these words itself; the
others are translated by their conversation (`domain.agents`)."""

_FIELDS: Final = frozenset(codex_methods.FIELDS.split())
_READ_FIELDS: Final = _FIELDS | frozenset(codex_methods.REFUSED_FIELDS.split())
_MORE_FIELDS: Final = {"thread/list": {"limit"}, "thread/read": {"includeTurns"}}
"""Fields that translated methods take besides those they require."""

_BY_TRANSCRIPT: Final = frozenset({"claude-code"})
"""Agents that begin a conversation of any name, and know it by its transcript."""


def lookup_method(agent: str) -> str:
    """Return the method by which an agent says whether it knows a conversation."""
    return "thread/read" if agent in _BY_TRANSCRIPT else "thread/resume"


def thread_request(request_id: str, agent: str, thread: str) -> WorkerRequestBody:
    """Return the request by which a worker's agent says whether it knows a conversation."""
    return request_body(request_id, lookup_method(agent), {"threadId": thread}, wait_ms=THREAD_MS)


def read_refusal(agent: str, thread: str, answer: RequestAnswer) -> Invalid | None:
    """Return why an agent does not know a conversation; None where it does, and where it did not
    answer in time."""
    receipt = answer.receipt
    if receipt is None or receipt.kind == "response":
        return None
    error = msgspec.json.decode(receipt.data, type=RequestError)
    return Invalid(f"{agent} knows no conversation {thread}: {error.message}", field="thread_id")


SERVED: Final = frozenset(METHODS)
"""Agents that a runtime drives as workers."""


def methods_of(agent: str) -> Allowed:
    """Return the table of an agent. One that was added is translated like the others."""
    return _TRANSLATED if is_added(agent) else METHODS[agent]


def agent_of_name(name: str) -> str:
    """Return the agent that a name or an alias means; an unknown name as it is."""
    for agent in AGENTS:
        if name in agent.aliases:
            return agent.name
    return name


def needed_access(agent: str, method: str) -> MethodAccess:
    """Return the right that a method of an agent needs; an unknown one is refused."""
    row = methods_of(agent).get(method)
    return MethodAccess.REFUSED if row is None else row[0]


def judge_request(agent: str, method: str, params: Mapping[str, Json]) -> MethodAccess:
    """Return what a request needs, `read` or `drive`, before it is sent.

    Raises `Invalid`, code `unsupported_method` or `invalid_request`.
    """
    row = methods_of(agent).get(method)
    if row is None:
        raise Invalid(
            f"Workers with {agent} do not take {method[:80]!r}: take a method of their table.",
            code="unsupported_method",
            field="request.method",
        )
    needed, required = row
    if agent == "codex":
        _judge_fields(method, needed, params)
    else:
        _judge_translated(method, required, params)
    for one in required:
        name = one.removesuffix("?")
        if name not in params or (params[name] is None and name == one):
            raise Invalid(
                f"{method} needs {name}: add it to params.",
                code="invalid_request",
                field=f"request.params.{name}",
            )
    return needed


def _judge_fields(method: str, needed: MethodAccess, params: Mapping[str, Json]) -> None:
    """Judge what Codex would take from a request besides what the method is for."""
    if method == RESPOND:
        return
    _refuse_others(method, params, _READ_FIELDS if needed is MethodAccess.READ else _FIELDS)
    cwd = params.get("cwd")
    if needed is MethodAccess.DRIVE and cwd is not None and not _in_workspace(cwd):
        raise Invalid(
            "cwd is a directory of the workspace, such as /workspace.",
            code="invalid_request",
            field="request.params.cwd",
        )


def _judge_translated(method: str, required: Required, params: Mapping[str, Json]) -> None:
    """Judge what a translator would leave unheard."""
    if method != RESPOND:
        _refuse_others(method, params, {*required, *_MORE_FIELDS.get(method, ())})


def _refuse_others(method: str, params: Mapping[str, Json], allowed: Container[str]) -> None:
    for name in params:
        if name not in allowed:
            raise Invalid(
                f"Workers do not take {name[:80]!r} of {method}: leave it out.",
                code="invalid_request",
                field=f"request.params.{name[:80]}",
            )


def _in_workspace(path: Json) -> bool:
    if not isinstance(path, str):
        return False
    parts = PurePosixPath(path).parts
    return parts[:2] == ("/", "workspace") and ".." not in parts
