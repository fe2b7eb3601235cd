"""Requests of a worker in Codex's words, as translators read and answer them."""

from collections.abc import Iterable, Sequence

import msgspec

from atoll.domain.agents.card import AgentReport, CardKind, CardState, Draft, Value
from atoll.domain.agents.conversation import AgentEvent, Reply
from atoll.domain.agents.lenient_json import Message, read_object, read_objects, read_text, short
from atoll.domain.errors import Invalid

RESPOND = "serverRequest/respond"
MAX_RESULT = 1024 * 1024
"""The characters of turns in one answer; the oldest are left out."""

_REFUSED = -32600


def words_of(params: Message) -> str:
    """Return the words of a prompt. Raises `Invalid` where it is not texts alone."""
    given = params.get("input")
    words: list[str] = []
    for piece in given if isinstance(given, list) else ():
        if (
            not isinstance(piece, dict)
            or piece.get("type") != "text"
            or not read_text(piece, "text").strip()
        ):
            raise _bad("input", "each part of input is {type: text, text}: this agent takes texts")
        words.append(read_text(piece, "text"))
    if not words:
        raise _bad("input", "input is a list of {type: text, text}, and not empty")
    return "\n".join(words)


def answer_request(key: str, **result: Value) -> tuple[Reply, ...]:
    """Return the answer to a request."""
    return (Reply(key, result, made=True),)


def answer_thread_ids(key: str, threads: Iterable[str]) -> tuple[Reply, ...]:
    """Return the answer with the ids of threads that a turn can begin in."""
    data: list[Value] = [*threads]
    return answer_request(key, data=data, nextCursor=None)


def unknown_thread(thread: str) -> Invalid:
    """Return the error for a thread that the agent has not open."""
    return _bad("threadId", f"no thread {thread[:80]!r} is open here: start or resume it")


def no_such_thread(key: str, thread: str, error: str = "") -> Reply:
    """Return the answer about a thread that there is not, with what the agent says of it."""
    return refuse_request(
        key, ": ".join(filter(None, (f"there is no thread {thread[:80]!r}", error)))
    )


def check_turn(params: Message, field: str, thread: str, turn: str) -> None:
    """Check that a request names the turn that runs. Raises `Invalid`."""
    if not turn or (read_text(params, "threadId"), read_text(params, field)) != (thread, turn):
        raise _bad(
            field, f"{field} {read_text(params, field)[:80]!r} is not the turn that runs there"
        )


def bad_thread_id() -> Invalid:
    """Return the error for what is no thread's id."""
    return _bad("threadId", "threadId is no id of a thread of this agent")


def refuse_request(key: str, message: str) -> Reply:
    """Return the answer to a request that was wrong."""
    return Reply(key, error={"code": _REFUSED, "message": message})


def turns_of(events: Iterable[AgentEvent]) -> list[dict[str, Value]]:
    """Return the turns that events of a thread tell of, with their items."""
    turns: list[dict[str, Value]] = []
    items: list[Value] = []
    for event in events:
        match event.method:
            case "turn/started":
                items = []
            case "item/completed":
                items.append(event.params["item"])
            case "turn/completed":
                turns.append({**read_object(event.params, "turn"), "items": items})
            case _:
                continue
    return turns


def preview_of(turns: Sequence[Message]) -> str:
    """Return the first prompt of a thread."""
    items = [item for turn in turns[:1] for item in read_objects(turn, "items")]
    words = [
        read_text(piece, "text") for item in items[:1] for piece in read_objects(item, "content")
    ]
    return short("\n".join(words))


def fitting(turns: Sequence[dict[str, Value]]) -> list[Value]:
    """Return the newest turns that fit into an answer."""
    newest: list[Value] = []
    left = MAX_RESULT
    for turn in reversed(turns):
        left -= len(msgspec.json.encode(turn))
        if left < 0:
            break
        newest.insert(0, turn)
    return newest


def started_turns(reports: Sequence[AgentReport]) -> list[str]:
    """Return the ids of the turns that a transcript's line begins."""
    return [
        report.id.removeprefix("turn:")
        for report in reports
        if isinstance(report, Draft)
        and report.kind is CardKind.TURN
        and report.state is CardState.RUNNING
    ]


def _bad(field: str, message: str) -> Invalid:
    return Invalid(message, code="invalid_request", field=f"request.params.{field}")
