"""Requests of a worker to Codex's app-server, beside the conversation's own calls."""

from typing import Any

import pytest

from atoll.domain.agents.acp.conversation import AcpConversation
from atoll.domain.agents.card import Began, Card, CardState, Draft, Value, Yielded
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.claude_code.conversation import ClaudeConversation
from atoll.domain.agents.codex.conversation import CodexConversation
from atoll.domain.agents.conversation import Conversation, Reply, Step, Terms
from atoll.domain.errors import Conflict, Invalid, NotFound
from tests.domain.agents.cards.replay import AT

APPROVAL = "item/commandExecution/requestApproval"


def standing() -> CodexConversation:
    """A conversation whose thread `th` stands; the next id is 3."""
    talk = CodexConversation(Terms("/workspace"))
    talk.begin()
    talk.take({"id": 1, "result": {}})
    talk.take({"id": 2, "result": {"thread": {"id": "th"}}})
    return talk


def started(talk: CodexConversation, thread: str, turn: str) -> Step:
    return talk.take(
        {"method": "turn/started", "params": {"threadId": thread, "turn": {"id": turn}}}
    )


def completed(talk: CodexConversation, thread: str) -> Step:
    return talk.take({"method": "turn/completed", "params": {"threadId": thread, "turn": {}}})


def asked(talk: CodexConversation, number: Any = 9, **params: Any) -> Card:
    step = talk.take({"id": number, "method": APPROVAL, "params": {"command": "ls", **params}})
    assert step.durable
    card = CardLog().put(next(one for one in step.said if isinstance(one, Draft)), AT)
    assert card is not None
    return card


def test_response_to_a_request_is_its_reply_and_confuses_no_call_of_the_conversation() -> None:
    talk = standing()
    (line,) = talk.request("r1", "thread/read", {"threadId": "th"}).send
    assert line == {"method": "thread/read", "id": "w:3", "params": {"threadId": "th"}}
    (own,) = talk.ask("go").send
    assert own["id"] == 4
    step = talk.take({"id": "w:3", "result": {"thread": {"id": "other"}}})
    assert step == Step(replies=(Reply("r1", {"thread": {"id": "other"}}),))
    assert talk.take({"id": "w:3", "result": {}}) == Step()
    assert talk.interrupt() == Step()


def test_place_in_a_trace_goes_beside_the_params() -> None:
    """The app-server of Codex 0.171 takes it as `trace`."""
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    (line,) = standing().request("r1", "thread/read", {"threadId": "th"}, trace=parent).send
    assert line["trace"] == {"traceparent": parent}
    assert line["params"] == {"threadId": "th"}


@pytest.mark.parametrize("method", ["thread/start", "thread/resume", "thread/fork"])
@pytest.mark.parametrize(
    ("asks", "approvals", "sandbox"),
    [(True, "on-request", "workspace-write"), (False, "never", "danger-full-access")],
)
def test_thread_of_a_worker_has_the_permissions_of_the_worker(
    method: str, asks: bool, approvals: str, sandbox: str
) -> None:
    talk = CodexConversation(Terms("/workspace", ask=asks))
    talk.begin()
    talk.take({"id": 1, "result": {}})
    given: dict[str, Value] = {"cwd": "/workspace/a", "sandbox": "other", "approvalPolicy": None}
    (line,) = talk.request("r1", method, given).send
    held = {"cwd": "/workspace/a", "sandbox": sandbox, "approvalPolicy": approvals}
    assert line["params"] == held


def test_turn_of_a_worker_takes_what_a_person_changed() -> None:
    talk = standing()
    turn: dict[str, Value] = {"threadId": "th", "input": [], "model": "its own"}
    (line,) = talk.request("r1", "turn/start", turn).send
    assert line["params"] == turn
    talk.change("permission_mode", "read-only")
    talk.change("model", "a person's")
    (line,) = talk.request("r2", "turn/start", turn).send
    policy = {"approvalPolicy": "on-request", "sandboxPolicy": {"type": "readOnly"}}
    assert line["params"] == {**turn, **policy}
    del turn["model"]
    (line,) = talk.request("r3", "turn/start", turn).send
    assert line["params"] == {**turn, **policy, "model": "a person's"}


def test_refusal_of_a_request_is_an_error_for_it_alone() -> None:
    talk = standing()
    talk.request("r1", "thread/read", {})
    error: dict[str, Value] = {"code": -32600, "message": "missing field"}
    assert talk.take({"id": "w:3", "error": error}) == Step(replies=(Reply("r1", error=error),))


def test_request_before_the_handshake_waits_for_it() -> None:
    talk = CodexConversation(Terms("/w"))
    talk.begin()
    assert talk.request("r1", "thread/list", {}) == Step()
    _, _, line = talk.take({"id": 1, "result": {}}).send
    assert line["method"] == "thread/list"


@pytest.mark.parametrize("prompt", [False, True])
def test_request_before_a_refused_handshake_is_refused(prompt: bool) -> None:
    talk = CodexConversation(Terms("/w"))
    talk.begin()
    talk.request("r1", "thread/list", {})
    if prompt:
        talk.ask("go")
    step = talk.take({"id": 1, "error": {"message": "too old"}})
    assert step.replies == (Reply("r1", error={"message": "too old"}),)


def test_turn_by_request_is_at_work_until_it_ends() -> None:
    talk = standing()
    step = talk.request("r1", "turn/start", {"threadId": "th", "input": []})
    assert step.said == (Began(),)
    with pytest.raises(Conflict):
        talk.ask("and this")
    assert started(talk, "th", "tu").conversation == "th"
    (stop,) = talk.interrupt().send
    assert stop["params"] == {"threadId": "th", "turnId": "tu"}
    talk.request("r2", "turn/steer", {"threadId": "th"})
    talk.request("r3", "turn/interrupt", {"threadId": "th", "turnId": "tu"})
    assert Began() not in completed(talk, "th").said
    assert talk.ask("next").send


def test_refused_turn_gives_the_agent_back_unless_another_runs() -> None:
    talk = standing()
    talk.request("r1", "turn/start", {"threadId": "th"})
    refused = talk.take({"id": "w:3", "error": {"message": "no"}})
    assert refused.said == (Yielded(),)
    started(talk, "th", "tu")
    talk.request("r2", "turn/start", {"threadId": "th"})
    assert talk.take({"id": "w:4", "error": {"message": "busy"}}).said == ()
    with pytest.raises(Conflict):
        talk.ask("go")


def test_turn_that_names_no_thread_does_not_keep_the_agent_busy() -> None:
    talk = standing()
    assert talk.request("r1", "turn/start", {}).said == ()
    assert talk.take({"id": "w:3", "error": {"message": "missing"}}).said == (Yielded(),)
    assert talk.ask("go").send


def test_refused_prompt_frees_its_own_thread_after_another_was_opened() -> None:
    talk = standing()
    talk.ask("go")
    talk.request("r1", "thread/start", {})
    talk.take({"id": "w:4", "result": {"thread": {"id": "two"}}})
    talk.take({"id": 3, "error": {"message": "no"}})
    assert talk.ask("again").send


def test_turns_of_two_threads_are_kept_apart() -> None:
    talk = standing()
    talk.request("r1", "thread/start", {})
    opened = talk.take({"id": "w:3", "result": {"thread": {"id": "two"}, "model": "m"}})
    assert opened.settings is not None and opened.settings.model is not None
    assert opened.settings.model.now == "m"
    started(talk, "th", "one")
    started(talk, "two", "tu")
    card = asked(talk, threadId="two")
    assert completed(talk, "th").said[-1] == Began()
    (stop,) = talk.interrupt().send
    assert stop["params"] == {"threadId": "two", "turnId": "tu"}
    assert talk.answer(card, "accept", None).send
    completed(talk, "two")
    (turn,) = talk.ask("go").send
    assert isinstance(turn["params"], dict) and turn["params"]["threadId"] == "two"


@pytest.mark.parametrize(("thread", "calls"), [("th", ["thread/start"]), ("other", [])])
def test_conversation_whose_thread_was_deleted_begins_another(
    thread: str, calls: list[str]
) -> None:
    talk = standing()
    talk.request("r1", "thread/delete", {"threadId": thread})
    step = talk.take({"id": "w:3", "result": {}})
    assert [line["method"] for line in step.send] == calls
    assert step.replies == (Reply("r1", {}),)


@pytest.mark.parametrize(
    ("answer", "sent", "state"),
    [
        ({"result": {"decision": "accept"}}, {"result": {"decision": "accept"}}, CardState.DONE),
        (
            {"result": {"decision": "cancel"}},
            {"result": {"decision": "cancel"}},
            CardState.DECLINED,
        ),
        ({"error": {"code": 1}}, {"error": {"code": 1}}, CardState.DECLINED),
    ],
)
def test_question_is_answered_by_request_and_then_not_by_its_card(
    answer: dict[str, Any], sent: dict[str, Any], state: CardState
) -> None:
    talk = standing()
    card = asked(talk)
    step = talk.request("r1", "serverRequest/respond", {"requestId": "9", **answer})
    assert (step.send, step.replies) == (({"id": 9, **sent},), (Reply("r1", {}),))
    assert isinstance(step.said[0], Draft) and step.said[0].state is state
    with pytest.raises(NotFound):
        talk.answer(card, "accept", None)


def test_question_that_its_card_answered_is_a_conflict() -> None:
    talk = standing()
    talk.answer(asked(talk), "accept", None)
    with pytest.raises(Conflict) as refused:
        talk.request("r1", "serverRequest/respond", {"requestId": 9, "result": {}})
    assert refused.value.code == "conflict"


def test_only_events_are_kept() -> None:
    talk = standing()
    kept = {"item/started": True, "item/agentMessage/delta": False, "turn/completed": True}
    kept |= {"item/commandExecution/outputDelta": False, "turn/started": True}
    assert kept == {name: talk.take({"method": name, "params": {}}).durable for name in kept}
    assert not talk.take({"id": 3, "result": {}}).durable
    assert talk.take({"id": 4, "method": "item/tool/call", "params": {}}).durable


@pytest.mark.parametrize(
    ("talk", "method"),
    [
        (standing(), "initialize"),
        (AcpConversation(Terms("/w")), "thread/fork"),
        (ClaudeConversation(Terms("/w")), "thread/fork"),
    ],
)
def test_request_that_is_not_served_says_so(talk: Conversation, method: str) -> None:
    with pytest.raises(Invalid) as refused:
        talk.request("r1", method, {})
    assert refused.value.code == "unsupported_method"
