"""Talking to an agent over ACP: prompts, permissions, failures, and agents that misbehave."""

from typing import Any

import pytest

from atoll.domain.agents.acp.conversation import AcpConversation
from atoll.domain.agents.card import Began, Card, CardKind, CardState, Draft, Value, Yielded
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.conversation import AgentEvent, Step, Terms
from atoll.domain.agents.lenient_json import MAX_REMEMBERED, Message
from atoll.domain.errors import Conflict, Invalid, NotFound
from tests.domain.agents.cards.replay import AT, fields, first_draft

OPTIONS: list[Any] = [
    {"optionId": "no", "name": "No", "kind": "reject_once"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
]


def standing(*, ask: bool = False) -> AcpConversation:
    """A conversation whose session stands; the prompts' ids begin at 3."""
    talk = AcpConversation(Terms("/workspace", ask=ask))
    talk.begin()
    (new,) = talk.take({"id": 1, "result": {}}).send
    assert (new["method"], new["params"]) == (
        "session/new",
        {"cwd": "/workspace", "mcpServers": []},
    )
    ready = talk.take({"id": 2, "result": {"sessionId": "s"}})
    assert (ready.said, ready.send) == ((), ())
    return talk


@pytest.mark.parametrize("able", [{}, {"mcpCapabilities": {"http": False}}, {"mcpCapabilities": 3}])
def test_agent_that_cannot_dial_a_server_of_tools_is_named_none(able: dict[str, Any]) -> None:
    talk = AcpConversation(Terms("/workspace", tools_url="http://127.0.0.1:8082/mcp"))
    talk.begin()
    (new,) = talk.take({"id": 1, "result": {"agentCapabilities": able}}).send
    assert new["params"] == {"cwd": "/workspace", "mcpServers": []}


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:8082/mcp"])
def test_agent_that_dials_no_server_or_is_not_to_is_told_of_a_program(url: str) -> None:
    argv = ("/x/atoll-mcp", "--flat")
    talk = AcpConversation(Terms("/workspace", tools_url=url, tools_argv=argv))
    talk.begin()
    (new,) = talk.take({"id": 1, "result": {"protocolVersion": 1}}).send
    program = {"name": "atoll", "command": "/x/atoll-mcp", "args": ["--flat"], "env": []}
    params = new["params"]
    assert isinstance(params, dict) and params["mcpServers"] == [program]


@pytest.mark.parametrize("conversation", [None, "s"])
def test_session_is_named_the_server_of_tools(conversation: str | None) -> None:
    url = "http://127.0.0.1:8082/mcp"
    talk = AcpConversation(Terms("/workspace", conversation=conversation, tools_url=url))
    talk.begin()
    able: dict[str, Any] = {"loadSession": True, "mcpCapabilities": {"http": True, "sse": False}}
    (sent,) = talk.take({"id": 1, "result": {"agentCapabilities": able}}).send
    params: Any = sent["params"]
    assert params["mcpServers"] == [{"type": "http", "name": "atoll", "url": url, "headers": []}]


def permission(number: int, options: list[Any] = OPTIONS) -> dict[str, Any]:
    params = {"toolCall": {"toolCallId": "t", "rawInput": {"command": "ls"}}, "options": options}
    return {"id": number, "method": "session/request_permission", "params": params}


def pending(step: Step) -> Card:
    """The last card that a step shows."""
    log = CardLog()
    draft = [one for one in step.said if isinstance(one, Draft)][-1]
    card = log.put(draft, AT)
    assert card is not None
    return card


def states(step: Step) -> list[CardState | None]:
    return [one.state for one in step.said if isinstance(one, Draft)]


def test_resuming_is_refused_for_want_of_an_id() -> None:
    with pytest.raises(Invalid):
        AcpConversation(Terms("/", resume=True)).begin()


def test_prompt_before_the_session_waits_and_a_second_one_is_refused() -> None:
    talk = AcpConversation(Terms("/"))
    talk.begin()
    assert talk.ask("do it") == Step(said=(Began(),))
    with pytest.raises(Conflict):
        talk.ask("and this")
    talk.take({"id": 1, "result": {}})
    (prompt,) = talk.take({"id": 2, "result": {"sessionId": "s"}}).send
    words = [{"type": "text", "text": "do it"}]
    assert prompt["params"] == {"sessionId": "s", "prompt": words}
    with pytest.raises(Conflict):
        talk.ask("while it works")


def test_turn_ends_with_the_answer_to_its_prompt_and_another_may_begin() -> None:
    talk = standing()
    talk.ask("one")
    assert states(talk.take({"id": 3, "result": {"stopReason": "end_turn"}})) == [CardState.DONE]
    assert talk.ask("two").send[0]["id"] == 4
    error: Value = {"message": "no key", "data": {"details": "401"}}
    failed = talk.take({"id": 4, "error": error})
    assert states(failed) == [CardState.FAILED, CardState.FAILED]
    assert first_draft(failed).text == "no key: 401"
    assert talk.take({"id": 4, "result": {}}) == Step()


@pytest.mark.parametrize(("number", "call"), [(1, "initialize"), (2, "session/new")])
def test_agent_that_cannot_begin_says_why_on_a_card(number: int, call: str) -> None:
    talk = AcpConversation(Terms("/"))
    talk.begin()
    for earlier in range(1, number):
        talk.take({"id": earlier, "result": {}})
    card = pending(talk.take({"id": number, "error": {"message": "log in first"}}))
    assert (card.kind, card.state) == (CardKind.STATUS, CardState.FAILED)
    assert (card.title, card.text) == (f"{call} failed", "log in first")


@pytest.mark.parametrize("number", [1, 2])
def test_prompt_that_waits_for_a_session_ends_with_the_refusal_to_open_one(number: int) -> None:
    talk = AcpConversation(Terms("/"))
    talk.begin()
    talk.ask("do it")
    for earlier in range(1, number):
        talk.take({"id": earlier, "result": {}})
    step = talk.take({"id": number, "error": {"message": "log in first"}})
    assert step.said[-1] == Yielded()
    with pytest.raises(Conflict, match="log in first"):
        talk.ask("again")


def test_permission_is_given_at_once_where_everything_is_allowed() -> None:
    step = standing().take(permission(9))
    outcome = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    assert step.send == ({"jsonrpc": "2.0", "id": 9, "result": outcome},)
    assert states(step) == [CardState.RUNNING, CardState.PENDING, CardState.DONE]


def test_permission_without_an_allowing_option_waits_for_a_person() -> None:
    talk = standing()
    step = talk.take(permission(9, OPTIONS[:1]))
    assert (step.send, states(step)) == ((), [CardState.RUNNING, CardState.PENDING])
    assert first_draft(talk.answer(pending(step), "no", None)).state is CardState.DECLINED


def test_permission_that_is_asked_for_is_answered_once_by_one_of_its_options() -> None:
    talk = standing(ask=True)
    card = pending(talk.take(permission(9)))
    with pytest.raises(Invalid):
        talk.answer(card, "perhaps", None)
    step = talk.answer(card, "yes", None)
    assert step.send[0]["result"] == {"outcome": {"outcome": "selected", "optionId": "yes"}}
    assert states(step) == [CardState.DONE]
    with pytest.raises(NotFound):
        talk.answer(card, "yes", None)


def test_interrupt_cancels_the_turn_and_what_waits_in_it() -> None:
    talk = standing(ask=True)
    assert talk.interrupt() == Step()
    talk.ask("one")
    card = pending(talk.take(permission(9)))
    step = talk.interrupt()
    assert [line.get("method", line.get("result")) for line in step.send] == [
        "session/cancel",
        {"outcome": {"outcome": "cancelled"}},
    ]
    assert states(step) == [CardState.DECLINED]
    with pytest.raises(NotFound):
        talk.answer(card, "yes", None)


def test_request_nobody_serves_is_answered_and_a_notice_is_not() -> None:
    talk = standing()
    (line,) = talk.take({"id": "x", "method": "fs/read_text_file", "params": {}}).send
    assert (line["id"], line["error"]) == (
        "x",
        {"code": -32601, "message": "fs/read_text_file is not served"},
    )
    kept = AgentEvent("agent/message", {"threadId": "s"}, native=True)
    assert talk.take({"method": "fs/changed", "params": {}}) == Step(events=(kept,))


def test_flood_of_permissions_keeps_the_newest_only() -> None:
    talk = standing(ask=True)
    cards = [pending(talk.take(permission(number))) for number in range(MAX_REMEMBERED + 1)]
    with pytest.raises(NotFound):
        talk.answer(cards[0], "yes", None)
    assert states(talk.answer(cards[-1], "yes", None)) == [CardState.DONE]


LOADING = {"id": 1, "result": {"agentCapabilities": {"loadSession": True}}}


def taking_up(initialized: dict[str, Any]) -> tuple[AcpConversation, Step]:
    talk = AcpConversation(Terms("/workspace", conversation="old"))
    talk.begin()
    return talk, talk.take(initialized)


def test_conversation_is_taken_up_by_its_id_and_what_was_said_is_not_told_again() -> None:
    talk, step = taking_up(LOADING)
    (load,) = step.send
    assert (load["method"], load["params"]) == (
        "session/load",
        {"sessionId": "old", "cwd": "/workspace", "mcpServers": []},
    )
    said: Value = {
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "before"}
    }  # fmt: skip
    update: Message = {"method": "session/update", "params": {"update": said}}
    assert talk.take(update) == Step()
    ready = talk.take({"id": 2, "result": None})
    assert (ready.said, ready.send) == ((), ())
    step = talk.ask("go on")
    assert fields(step.send[0], "params")["sessionId"] == "old"
    assert step.conversation == "old"
    assert talk.take(update).said != ()


@pytest.mark.parametrize("able", [True, False])
def test_conversation_that_cannot_be_taken_up_is_followed_by_a_new_one(able: bool) -> None:
    talk, step = taking_up(LOADING if able else {"id": 1, "result": {}})
    if able:
        step = talk.take({"id": 2, "error": {"message": "no such session"}})
    (new,) = step.send
    assert (new["method"], states(step)) == ("session/new", [CardState.FAILED])
    talk.take({"id": new["id"], "result": {"sessionId": "s"}})
    # One that cannot be taken up is not named: nobody could go on with it.
    assert talk.ask("hello").conversation == ("s" if able else "")
