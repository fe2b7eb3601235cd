"""Threads, turns and open questions, folded from whatever an agent says."""

import json
from dataclasses import replace
from typing import Any

import pytest

from atoll.domain.workers.ledger import WorkerRequest, admit
from atoll.domain.workers.talk import (
    LONGEST_ID,
    LONGEST_TITLE,
    MOST_QUESTIONS,
    MOST_THREADS,
    NO_TALK,
    OpenQuestion,
    WorkerTalk,
    WorkerThread,
    after_answer,
    after_end,
    after_message,
)


def said(talk: WorkerTalk, method: str, seq: int = 1, **params: Any) -> WorkerTalk:
    return after_message(talk, seq, method, json.dumps(params))


def asked(talk: WorkerTalk, question: str, seq: int = 1, **params: Any) -> WorkerTalk:
    return after_message(talk, seq, "item/x/requestApproval", json.dumps(params), question)


def test_thread_is_known_with_its_title_and_the_turn_that_runs() -> None:
    talk = said(NO_TALK, "thread/started", thread={"id": "t1", "preview": "Write it"})
    talk = said(talk, "turn/started", threadId="t1", turn={"id": "u1"})
    talk = said(talk, "turn/started", threadId="t2", turn={"id": "u2"})
    assert talk.threads == (WorkerThread("t1", "u1", "Write it"), WorkerThread("t2", "u2"))
    talk = said(talk, "turn/completed", threadId="t1", turn={"id": "u1"})
    talk = said(talk, "thread/name/updated", threadId="t2", threadName="Two")
    assert talk.threads == (WorkerThread("t1", None, "Write it"), WorkerThread("t2", "u2", "Two"))
    assert said(talk, "thread/started", thread={"id": "t2"}) == talk


def test_thread_is_known_from_the_answer_that_opens_it() -> None:
    result = json.dumps({"thread": {"id": "t1", "name": "One", "preview": "p"}})
    opened = after_answer(NO_TALK, "thread/start", result)
    assert opened.threads == (WorkerThread("t1", None, "One"),)
    assert after_answer(NO_TALK, "thread/read", result) == NO_TALK
    assert after_answer(NO_TALK, "thread/start", "{}") == NO_TALK


def test_question_is_open_until_it_is_resolved_or_its_turn_ends() -> None:
    talk = asked(asked(NO_TALK, "7", 3, threadId="t1"), "8", 4, threadId="t2")
    assert talk.questions == (OpenQuestion("7", 3, "t1"), OpenQuestion("8", 4, "t2"))
    assert said(talk, "serverRequest/resolved", requestId=7).questions == (talk.questions[1],)
    assert said(talk, "serverRequest/resolved", requestId="8").questions == (talk.questions[0],)
    assert said(talk, "turn/completed", threadId="t2").questions == (talk.questions[0],)
    again = asked(talk, "7", 9)
    assert again.questions == (talk.questions[1], OpenQuestion("7", 9))


def test_agent_that_ended_runs_no_turn_and_asks_nothing() -> None:
    talk = asked(said(NO_TALK, "turn/started", threadId="t1", turn={"id": "u1"}), "7")
    assert after_end(talk) == WorkerTalk((WorkerThread("t1"),))


@pytest.mark.parametrize(
    "params",
    ["", "null", "[]", "{", "[" * 100_000, '{"threadId":1}', '{"turn":[]}', '{"thread":7}', "{}"],
)
def test_what_cannot_be_read_changes_nothing(params: str) -> None:
    for method in (
        *("thread/started", "thread/name/updated", "turn/started", "turn/completed"),
        *("serverRequest/resolved", "item/completed", ""),
    ):
        assert after_message(NO_TALK, 1, method, params) == NO_TALK
    assert after_message(NO_TALK, 1, "m", params, "7").questions == (OpenQuestion("7", 1),)


def test_what_is_known_is_bounded() -> None:
    talk = NO_TALK
    for number in range(MOST_THREADS + 3):
        talk = said(talk, "turn/started", threadId=f"t{number}", turn={"id": "u" * 999})
    for number in range(MOST_QUESTIONS + 3):
        talk = asked(talk, f"q{number}" + "x" * 999, number)
    assert (len(talk.threads), len(talk.questions)) == (MOST_THREADS, MOST_QUESTIONS)
    assert talk.threads[0].thread_id == "t3" and talk.questions[-1].seq == MOST_QUESTIONS + 2
    assert talk.threads[0].turn_id == "u" * LONGEST_ID
    assert len(talk.questions[0].server_request_id) == LONGEST_ID
    long = said(NO_TALK, "thread/started", thread={"id": "t" * 999, "name": "n" * 999})
    assert long.threads == (WorkerThread("t" * LONGEST_ID, None, "n" * LONGEST_TITLE),)
    assert said(long, "turn/started", threadId="t" * 999, turn={"id": "u"}).threads == (
        replace(long.threads[0], turn_id="u"),
    )


def test_entry_of_the_ledger_knows_its_method() -> None:
    assert admit(None, WorkerRequest("r", "thread/start", {})).method == "thread/start"


def test_thread_that_works_goes_to_the_end() -> None:
    talk = NO_TALK
    for name in ("t1", "t2"):
        talk = said(talk, "thread/started", thread={"id": name, "name": name})
    talk = said(talk, "turn/started", threadId="t1", turn={"id": "u1"})
    assert [(one.thread_id, one.title) for one in talk.threads] == [("t2", "t2"), ("t1", "t1")]
