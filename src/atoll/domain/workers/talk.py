"""The talk of a worker: its threads with their turns, and the open questions of its agent.

It is folded from the events and receipts of the worker as they are stored, in the same transaction.
What an agent sent may have any form; what cannot be read changes nothing.
"""

from dataclasses import dataclass, replace
from typing import Final

import msgspec

from atoll.wire.http.unreadable import UNREADABLE

MOST_THREADS: Final = 100
"""The threads that are known of a worker, the newest ones."""
MOST_QUESTIONS: Final = 100
LONGEST_ID: Final = 200
LONGEST_TITLE: Final = 200

OPENING: Final = frozenset({"thread/start", "thread/resume", "thread/fork"})
"""The methods whose result is a thread that the agent has from then on."""


@dataclass(frozen=True, slots=True)
class WorkerThread:
    """A conversation of a worker. `turn_id` is the turn that runs."""

    thread_id: str
    turn_id: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question of the agent without an answer; event `seq` has its words."""

    server_request_id: str
    seq: int
    thread_id: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerTalk:
    """Threads, the one that worked last at the end, and open questions, oldest first."""

    threads: tuple[WorkerThread, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()


NO_TALK: Final = WorkerTalk()


class _Turn(msgspec.Struct):
    id: str = ""


class _Thread(msgspec.Struct):
    id: str = ""
    name: str | None = None
    preview: str | None = None


class _Params(msgspec.Struct, rename="camel"):
    """Params of a message about a thread, or a result with one."""

    thread_id: str = ""
    thread_name: str | None = None
    request_id: int | str = ""
    turn: _Turn = msgspec.field(default_factory=_Turn)
    thread: _Thread = msgspec.field(default_factory=_Thread)


def after_message(
    talk: WorkerTalk, seq: int, method: str, params: str, question: str | None = None
) -> WorkerTalk:
    """Return the talk after a message of the agent, event `seq`; `question` is the id of one that
    asks."""
    said = _read(params)
    if question is not None:
        return _add_question(talk, OpenQuestion(question[:LONGEST_ID], seq, said.thread_id or None))
    match method:
        case "thread/started":
            return _open_thread(talk, said.thread)
        case "thread/name/updated":
            return _set_title(talk, said.thread_id, said.thread_name)
        case "turn/started":
            return _set_turn(
                _move_to_end(talk, said.thread_id), said.thread_id, said.turn.id or None
            )
        case "turn/completed":
            done = _set_turn(talk, said.thread_id, None)
            left = tuple(one for one in done.questions if one.thread_id != said.thread_id)
            return replace(done, questions=left)
        case "serverRequest/resolved":
            name = str(said.request_id)
            left = tuple(one for one in talk.questions if one.server_request_id != name)
            return replace(talk, questions=left)
        case _:
            return talk


def after_answer(talk: WorkerTalk, method: str, result: str) -> WorkerTalk:
    """Return the talk after the agent answered a request."""
    return _open_thread(talk, _read(result).thread) if method in OPENING else talk


def after_end(talk: WorkerTalk) -> WorkerTalk:
    """Return the talk once the agent has ended: no turn runs, and nothing waits for an answer."""
    return WorkerTalk(tuple(replace(one, turn_id=None) for one in talk.threads))


def _add_question(talk: WorkerTalk, question: OpenQuestion) -> WorkerTalk:
    others = [one for one in talk.questions if one.server_request_id != question.server_request_id]
    return replace(talk, questions=(*others, question)[-MOST_QUESTIONS:])


def _open_thread(talk: WorkerTalk, thread: _Thread) -> WorkerTalk:
    return _set_title(talk, thread.id, thread.name or thread.preview)


def _set_title(talk: WorkerTalk, thread_id: str, title: str | None) -> WorkerTalk:
    known = _thread(talk, thread_id)
    shown = title[:LONGEST_TITLE] if title else known.title
    return _put(talk, replace(known, title=shown))


def _set_turn(talk: WorkerTalk, thread_id: str, turn_id: str | None) -> WorkerTalk:
    turn = None if turn_id is None else turn_id[:LONGEST_ID]
    return _put(talk, replace(_thread(talk, thread_id), turn_id=turn))


def _move_to_end(talk: WorkerTalk, thread_id: str) -> WorkerTalk:
    """Return the talk with a thread at the end."""
    others = tuple(one for one in talk.threads if one.thread_id != thread_id[:LONGEST_ID])
    return _put(replace(talk, threads=others), _thread(talk, thread_id))


def _thread(talk: WorkerTalk, thread_id: str) -> WorkerThread:
    named = WorkerThread(thread_id[:LONGEST_ID])
    return next((one for one in talk.threads if one.thread_id == named.thread_id), named)


def _put(talk: WorkerTalk, thread: WorkerThread) -> WorkerTalk:
    if not thread.thread_id:
        return talk
    if any(one.thread_id == thread.thread_id for one in talk.threads):
        same = tuple(thread if one.thread_id == thread.thread_id else one for one in talk.threads)
        return replace(talk, threads=same)
    return replace(talk, threads=(*talk.threads, thread)[-MOST_THREADS:])


def _read(text: str) -> _Params:
    try:
        return msgspec.json.decode(text, type=_Params)
    except UNREADABLE:
        return _Params()
