"""Talking to Codex's app-server: threads, turns, what it asks, and what goes wrong."""

from typing import Any

import pytest

from atoll.domain.agents.card import Began, Card, CardKind, CardState, Draft, Yielded
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.codex.conversation import CodexConversation
from atoll.domain.agents.conversation import Step, Terms
from atoll.domain.agents.lenient_json import MAX_REMEMBERED
from atoll.domain.errors import Conflict, Invalid, NotFound
from tests.domain.agents.cards.replay import AT, fields

APPROVAL = "item/commandExecution/requestApproval"


def standing() -> CodexConversation:
    """A conversation whose thread stands; the next call's id is 3."""
    talk = CodexConversation(Terms("/workspace"))
    talk.begin()
    talk.take({"id": 1, "result": {}})
    assert not talk.take({"id": 2, "result": {"thread": {"id": "th"}}}).said
    return talk


def shown(step: Step) -> Card:
    log = CardLog()
    draft = next(one for one in step.said if isinstance(one, Draft))
    card = log.put(draft, AT)
    assert card is not None
    return card


def asks(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"id": number, "method": method, "params": params}


def test_thread_of_a_sandbox_has_no_wall_of_its_own_unless_it_shall_ask() -> None:
    for ask, policy, walls in (
        (False, "never", "danger-full-access"),
        (True, "on-request", "workspace-write"),
    ):
        talk = CodexConversation(Terms("/w", ask=ask))
        talk.begin()
        _, start = talk.take({"id": 1, "result": {}}).send
        assert start["params"] == {"cwd": "/w", "approvalPolicy": policy, "sandbox": walls}


@pytest.mark.parametrize(
    ("threads", "method"), [([{"id": "last"}], "thread/resume"), ([], "thread/start")]
)
def test_resuming_takes_the_last_thread_or_a_new_one(threads: list[Any], method: str) -> None:
    talk = CodexConversation(Terms("/w", resume=True))
    talk.begin()
    _, listing = talk.take({"id": 1, "result": {}}).send
    assert listing["method"] == "thread/list"
    (opened,) = talk.take({"id": 2, "result": {"data": threads}}).send
    assert opened["method"] == method
    assert fields(opened, "params").get("threadId") == ("last" if threads else None)


def test_resuming_by_an_id_takes_that_thread_and_a_new_one_where_it_is_gone() -> None:
    talk = CodexConversation(Terms("/w", conversation="mine"))
    talk.begin()
    _, opened = talk.take({"id": 1, "result": {}}).send
    assert opened["method"] == "thread/resume"
    assert fields(opened, "params")["threadId"] == "mine"
    step = talk.take({"id": 2, "error": {"message": "no rollout"}})
    (fresh,) = step.send
    assert (fresh["method"], shown(step).text) == ("thread/start", "no rollout")


def test_copy_takes_a_fork_of_its_thread_and_the_thread_itself_where_there_is_none() -> None:
    talk = CodexConversation(Terms("/w", conversation="mine", fork=True))
    talk.begin()
    _, opened = talk.take({"id": 1, "result": {}}).send
    assert (opened["method"], fields(opened, "params")["threadId"]) == ("thread/fork", "mine")
    talk.take({"id": 2, "result": {"thread": {"id": "forked"}}})
    (turn,) = talk.ask("go").send
    assert fields(turn, "params")["threadId"] == "forked"
    assert talk.take({"method": "turn/started", "params": {}}).conversation == "forked"

    talk = CodexConversation(Terms("/w", conversation="mine", fork=True))
    talk.begin()
    talk.take({"id": 1, "result": {}})
    step = talk.take({"id": 2, "error": {"message": "unknown method"}})
    (resumed,) = step.send
    assert (resumed["method"], shown(step).text) == ("thread/resume", "unknown method")
    assert fields(resumed, "params")["threadId"] == "mine"


def test_thread_is_named_once_a_turn_began_in_it() -> None:
    talk = standing()
    assert talk.ask("go").conversation == ""
    assert talk.take({"method": "turn/started", "params": {}}).conversation == "th"


def test_turn_is_interrupted_by_its_id_while_it_lasts() -> None:
    talk = standing()
    assert talk.interrupt() == Step()
    talk.ask("go")
    with pytest.raises(Conflict):
        talk.ask("and this")
    talk.take({"method": "turn/started", "params": {"turn": {"id": "tu"}}})
    (stop,) = talk.interrupt().send
    assert (stop["method"], stop["params"]) == (
        "turn/interrupt",
        {"threadId": "th", "turnId": "tu"},
    )
    talk.take({"method": "turn/completed", "params": {"turn": {"id": "tu"}}})
    assert talk.interrupt() == Step()
    assert talk.ask("next").send


def test_turn_that_cannot_begin_frees_the_terminal_and_lets_ask_again() -> None:
    talk = standing()
    talk.ask("go")
    step = talk.take({"id": 3, "error": {"message": "not logged in"}})
    assert (shown(step).title, step.said[-1]) == ("The turn could not begin", Yielded())
    assert talk.ask("again").send


def test_prompt_is_a_turn_at_once_also_while_the_thread_is_being_opened() -> None:
    assert standing().ask("go").said == (Began(),)
    talk = CodexConversation(Terms("/w"))
    talk.begin()
    assert talk.ask("go") == Step(said=(Began(),))
    (_, start), (turn, _) = (
        talk.take({"id": 1, "result": {}}).send,
        talk.take({"id": 2, "result": {"thread": {"id": "th"}}}).send,
    )
    assert (start["method"], turn["method"]) == ("thread/start", "turn/start")


@pytest.mark.parametrize("number", [1, 2])
def test_prompt_that_waits_for_a_thread_ends_with_the_refusal_to_open_one(number: int) -> None:
    talk = CodexConversation(Terms("/w"))
    talk.begin()
    talk.ask("go")
    for earlier in range(1, number):
        talk.take({"id": earlier, "result": {}})
    step = talk.take({"id": number, "error": {"message": "log in first"}})
    assert (shown(step).text, step.said[-1]) == ("log in first", Yielded())
    assert talk.ask("again").said == (Began(),)


def test_refusal_of_anything_else_is_a_card_and_an_answer_to_nothing_is_nothing() -> None:
    talk = CodexConversation(Terms("/"))
    talk.begin()
    card = shown(talk.take({"id": 1, "error": {"message": "too old"}}))
    assert (card.state, card.title, card.text) == (CardState.FAILED, "Codex refused", "too old")
    assert talk.take({"id": 77, "error": {"message": "x"}}) == Step()
    assert talk.take({"id": 77, "result": {}}) == Step()


@pytest.mark.parametrize(("option", "text", "said"), [("A", None, "A"), (None, "my own", "my own")])
def test_question_is_answered_by_an_option_or_in_words(
    option: str | None, text: str | None, said: str
) -> None:
    talk = standing()
    question = {"id": "q", "header": "Pick", "question": "A or B?", "options": [{"label": "A"}]}
    card = shown(talk.take(asks("r", "item/tool/requestUserInput", questions=[question])))
    assert (card.kind, card.title) == (CardKind.QUESTION, "Pick")
    with pytest.raises(Invalid):
        talk.answer(card, "B", None)
    step = talk.answer(card, option, text)
    assert step.send == ({"id": "r", "result": {"answers": {"q": {"answers": [said]}}}},)


@pytest.mark.parametrize(
    ("decision", "result", "state"),
    [
        ("accept", {"action": "accept", "content": {}}, CardState.DONE),
        ("decline", {"action": "decline", "content": None}, CardState.DECLINED),
    ],
)
def test_elicitation_is_accepted_or_declined(
    decision: str, result: dict[str, Any], state: CardState
) -> None:
    talk = standing()
    card = shown(talk.take(asks(1, "mcpServer/elicitation/request", message="Log in?")))
    assert card.title == "Log in?"
    step = talk.answer(card, decision, None)
    assert step.send == ({"id": 1, "result": result},)
    assert shown(step).state is state


def test_request_that_was_resolved_elsewhere_or_ended_with_its_turn_waits_no_more() -> None:
    talk = standing()
    first = shown(talk.take(asks(1, APPROVAL, command="ls")))
    talk.take({"method": "serverRequest/resolved", "params": {"requestId": 1}})
    second = shown(talk.take(asks(2, APPROVAL, command="ls")))
    talk.take({"method": "turn/completed", "params": {"turn": {}}})
    for card in (first, second):
        with pytest.raises(NotFound):
            talk.answer(card, "accept", None)


def test_request_nobody_serves_is_refused_rather_than_left_waiting() -> None:
    (line,) = standing().take(asks(5, "item/tool/call")).send
    assert line == {"id": 5, "error": {"code": -32601, "message": "item/tool/call is not served"}}


def test_flood_of_requests_keeps_the_newest_only() -> None:
    talk = standing()
    cards = [shown(talk.take(asks(n, APPROVAL, command="ls"))) for n in range(MAX_REMEMBERED + 1)]
    with pytest.raises(NotFound):
        talk.answer(cards[0], "accept", None)
    assert talk.answer(cards[-1], "accept", None).send
