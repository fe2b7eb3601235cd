"""Requests of a worker to an agent over ACP: a session for each thread, each with its own turn."""

import json
from typing import Any

import pytest

from atoll.domain.agents.acp.conversation import AcpConversation
from atoll.domain.agents.card import Began, Card, CardState, Draft, Value, Yielded
from atoll.domain.agents.conversation import Reply, Step, Terms
from atoll.domain.errors import Conflict, Invalid, NotFound
from tests.domain.agents.cards.replay import FIXTURES
from tests.domain.agents.threads.story import events_of, told

GO: list[Value] = [{"type": "text", "text": "go"}]
ABLE = {"loadSession": True, "sessionCapabilities": {"list": {}}}
OPTIONS = [
    {"optionId": "once", "name": "Once", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "reject", "name": "No", "kind": "reject_once"},
]


class Talk:
    """A conversation, and what the agent answers to its last call."""

    def __init__(self, *, able: Any = ABLE, ready: bool = True, **terms: Any) -> None:
        self.conversation = AcpConversation(Terms("/workspace", fresh="f", **terms))
        self.calls: dict[str, Any] = {}
        self.sent(self.conversation.begin())
        self.able = able
        if ready:
            self.result("initialize", agentCapabilities=able)
            self.result("session/new", sessionId="s1")

    def sent(self, step: Step) -> Step:
        for line in step.send:
            if "method" in line and "id" in line:
                self.calls[str(line["method"])] = line
        return step

    def result(self, method: str, **result: Any) -> Step:
        line = {"id": self.calls.pop(method)["id"], "result": result}
        return self.sent(self.conversation.take(line))

    def error(self, method: str, message: str) -> Step:
        line = {"id": self.calls.pop(method)["id"], "error": {"message": message}}
        return self.sent(self.conversation.take(line))

    def update(self, session: str, **update: Any) -> Step:
        params: Any = {"sessionId": session, "update": update}
        return self.sent(self.conversation.take({"method": "session/update", "params": params}))

    def says(self, session: str, words: str, **more: Any) -> Step:
        content = {"type": "text", "text": words}
        return self.update(session, sessionUpdate="agent_message_chunk", content=content, **more)

    def wants(self, session: str, number: Any = 7) -> Step:
        call: Any = {"toolCallId": "t", "kind": "execute", "rawInput": {"command": "ls"}}
        params: Any = {"sessionId": session, "toolCall": call, "options": OPTIONS}
        line = {"id": number, "method": "session/request_permission", "params": params}
        return self.sent(self.conversation.take(line))

    def request(self, method: str, **params: Any) -> Step:
        return self.sent(self.conversation.request("r", method, params))

    def thread(self, session: str) -> None:
        """Open one more thread."""
        if self.request("thread/start").replies == ():
            self.result("session/new", sessionId=session)

    def turn(self, session: str) -> str:
        step = self.request("turn/start", threadId=session, input=GO)
        turn: str = result(step)["turn"]["id"]
        return turn

    def refused(self, method: str, **params: Any) -> tuple[str, str | None]:
        with pytest.raises((Invalid, Conflict)) as refusal:
            self.request(method, **params)
        return refusal.value.code, refusal.value.field


def result(step: Step) -> Any:
    (reply,) = step.replies
    assert reply.error is None and reply.made
    return reply.result


def two() -> Talk:
    """Two threads, `s1` and `s2`."""
    talk = Talk(ask=True)
    talk.thread("s1")
    talk.thread("s2")
    return talk


def test_first_thread_is_the_session_that_stands_and_the_next_is_another() -> None:
    talk = Talk()
    step = talk.request("thread/start")
    shown = {"id": "s1", "preview": "", "cwd": "/workspace", "turns": []}
    assert result(step) == {"thread": shown, "cwd": "/workspace"}
    assert (events_of(step), step.send) == (["thread/started"], ())
    assert talk.request("thread/start").replies == ()
    assert result(talk.result("session/new", sessionId="s2"))["thread"]["id"] == "s2"
    assert talk.request("thread/start").replies == ()
    failed = talk.error("session/new", "no more")
    assert failed.replies == (Reply("r", error={"message": "no more"}),)


def test_session_with_a_word_of_a_person_is_no_new_thread() -> None:
    talk = Talk()
    talk.sent(talk.conversation.ask("hello"))
    assert talk.request("thread/start").replies == ()


def test_requests_before_the_session_wait_for_it() -> None:
    talk = Talk(ready=False)
    assert talk.request("thread/start") == Step()
    assert talk.conversation.request("r2", "turn/start", {"threadId": "x", "input": GO}) == Step()
    talk.result("initialize", agentCapabilities=ABLE)
    ready = talk.result("session/new", sessionId="s1")
    first, second = ready.replies
    assert (first.key, second.key) == ("r", "r2")
    assert second.error is not None and second.error["code"] == -32600
    assert events_of(ready) == ["thread/started"]


@pytest.mark.parametrize("call", ["initialize", "session/new"])
def test_requests_that_wait_for_a_session_end_with_the_refusal_to_open_one(call: str) -> None:
    talk = Talk(ready=False)
    talk.request("thread/start")
    if call == "session/new":
        talk.result("initialize")
    step = talk.error(call, "no login")
    assert step.replies == (Reply("r", error={"message": "no login"}),)
    talk.request("thread/start")
    assert result(talk.result("session/new", sessionId="s1"))["thread"]["id"] == "s1"


def test_threads_work_beside_each_other_and_the_lock_waits_for_both() -> None:
    talk = two()
    one, other = talk.turn("s1"), talk.turn("s2")
    assert one != other
    (begun,) = [line for line in talk.calls.values() if line["method"] == "session/prompt"]
    assert begun["params"]["sessionId"] == "s2"
    talk.says("s1", "first ")
    talk.says("s2", "second")
    talk.says("s1", "half")
    ended = talk.result("session/prompt", stopReason="end_turn")
    assert events_of(ended) == ["item/completed agentMessage second", "turn/completed completed *"]
    assert [one for one in ended.said if isinstance(one, Began | Yielded)] == [Yielded(), Began()]
    cards = [one.id for one in ended.said if isinstance(one, Draft)]
    assert cards == ["s2:turn:1"]
    assert talk.refused("turn/start", threadId="s1", input=GO) == ("agent_running", None)


def test_turn_is_told_with_its_items_and_what_it_was_made_of() -> None:
    talk = Talk()
    talk.thread("s1")
    step = talk.request("turn/start", threadId="s1", input=GO)
    assert events_of(step) == ["turn/started inProgress", "item/completed userMessage go"]
    assert events_of(talk.says("s1", "Hi")) == ["item/agentMessage/delta Hi"]
    tool: Any = {"sessionUpdate": "tool_call", "toolCallId": "t", "kind": "execute"}
    given = {"rawInput": {"command": "ls"}}
    assert events_of(talk.update("s1", **tool, status="pending", **given)) == [
        "item/completed agentMessage Hi",
        "item/started commandExecution inProgress ls *",
    ]
    tool["sessionUpdate"] = "tool_call_update"
    assert events_of(talk.update("s1", **tool, status="in_progress")) == []
    assert events_of(talk.update("s1", **tool, status="completed")) == [
        "item/completed commandExecution completed ls *"
    ]
    assert events_of(talk.update("s1", sessionUpdate="usage_update")) == ["agent/message *"]
    ended = talk.error("session/prompt", "no credit")
    (event,) = ended.events
    turn: Any = event.params["turn"]
    assert (turn["status"], turn["error"]) == ("failed", {"message": "no credit"})


def test_text_on_both_sides_of_a_tool_has_two_names() -> None:
    talk = Talk()
    talk.thread("s1")
    talk.turn("s1")
    tool: Any = {"sessionUpdate": "tool_call", "toolCallId": "t", "status": "completed"}
    events = [
        *talk.says("s1", "before", messageId="m").events,
        *talk.update("s1", **tool).events,
        *talk.says("s1", "after", messageId="m").events,
        *talk.result("session/prompt", stopReason="end_turn").events,
    ]
    pieces = [one.params["itemId"] for one in events if one.live]
    assert pieces == ["m:0", "m:1"]
    names = [one.params["item"]["id"] for one in events if "item" in one.params]  # type: ignore[index,call-overload]
    assert names == ["m:0", "t", "m:1"]


def test_interrupt_cancels_one_thread_with_its_questions() -> None:
    talk = two()
    turn = talk.turn("s1")
    talk.turn("s2")
    talk.wants("s1", 7)
    talk.wants("s2", 8)
    step = talk.request("turn/interrupt", threadId="s1", turnId=turn)
    assert result(step) == {}
    cancel, withdrawn = step.send
    assert (cancel["method"], cancel["params"]) == ("session/cancel", {"sessionId": "s1"})
    assert withdrawn["id"] == 7
    assert events_of(step) == ["serverRequest/resolved"]
    assert talk.conversation.interrupt().send[0]["params"] == {"sessionId": "s2"}


def test_steering_breaks_the_prompt_off_and_goes_on_in_the_same_turn() -> None:
    talk = Talk()
    talk.thread("s1")
    turn = talk.turn("s1")
    step = talk.request("turn/steer", threadId="s1", expectedTurnId=turn, input=GO)
    assert result(step) == {"turnId": turn}
    assert [line["method"] for line in step.send] == ["session/cancel"]
    assert events_of(step) == ["item/completed userMessage go"]
    more = talk.request("turn/steer", threadId="s1", expectedTurnId=turn, input=GO)
    assert more.send == ()
    on = talk.result("session/prompt", stopReason="cancelled")
    assert on.send[0]["params"] == {
        "sessionId": "s1", "prompt": [{"type": "text", "text": "go\ngo"}],
    }  # fmt: skip
    assert (on.said, events_of(on)) == ((), ["agent/message *"])
    ended = talk.result("session/prompt", stopReason="end_turn")
    assert events_of(ended) == ["turn/completed completed *"]


def test_interrupt_after_words_forgets_them() -> None:
    talk = Talk()
    talk.thread("s1")
    turn = talk.turn("s1")
    talk.request("turn/steer", threadId="s1", expectedTurnId=turn, input=GO)
    talk.request("turn/interrupt", threadId="s1", turnId=turn)
    ended = talk.result("session/prompt", stopReason="cancelled")
    assert events_of(ended) == ["turn/completed interrupted *"]


def test_cancelled_prompt_that_ends_with_an_error_was_interrupted() -> None:
    talk = Talk()
    talk.thread("s1")
    turn = talk.turn("s1")
    talk.request("turn/interrupt", threadId="s1", turnId=turn)
    assert events_of(talk.error("session/prompt", "aborted")) == ["turn/completed interrupted *"]
    talk.turn("s1")
    assert events_of(talk.error("session/prompt", "no credit")) == ["turn/completed failed *"]


def test_question_is_answered_by_request_or_card_whichever_is_first() -> None:
    talk = two()
    talk.turn("s2")
    asked = talk.wants("s2")
    event = asked.events[-1]
    assert event.method == "item/commandExecution/requestApproval"
    draft = next(one for one in asked.said if isinstance(one, Draft) and one.options)
    told = {"answerable": True, "for": "s2:t", "lasting": ["always"]}
    assert (draft.id, draft.data) == ("approval:7", told)
    respond = {"requestId": event.id, "result": {"decision": "acceptForSession"}}
    step = talk.request("serverRequest/respond", **respond)
    assert result(step) == {}
    (line,) = step.send
    assert line["result"] == {"outcome": {"outcome": "selected", "optionId": "always"}}
    assert events_of(step) == ["serverRequest/resolved"]
    card = Card(1, 1, draft.id, 1, draft.kind, CardState.PENDING, "", options=draft.options or ())
    with pytest.raises(NotFound):
        talk.conversation.answer(card, "once", None)
    assert talk.refused("serverRequest/respond", **respond)[0] == "conflict"


def test_cancel_denies_and_breaks_the_turn_off() -> None:
    talk = two()
    talk.turn("s2")
    event = talk.wants("s2").events[-1]
    step = talk.request("serverRequest/respond", requestId=event.id, result={"decision": "cancel"})
    denied, cancel = step.send
    assert denied["result"] == {"outcome": {"outcome": "selected", "optionId": "reject"}}
    assert (cancel["method"], result(step)) == ("session/cancel", {})


def test_permission_that_is_given_at_once_is_no_question() -> None:
    talk = Talk()
    talk.thread("s1")
    talk.turn("s1")
    step = talk.wants("s1")
    assert (len(step.send), events_of(step)) == (
        1,
        ["item/started commandExecution inProgress ls *"],
    )
    again = talk.wants("s1", 8)
    assert (len(again.send), events_of(again)) == (1, ["agent/message *"])


def test_tool_that_a_permission_is_the_first_to_name_is_an_item_before_it() -> None:
    talk = two()
    talk.turn("s2")
    assert events_of(talk.wants("s2")) == [
        "item/started commandExecution inProgress ls",
        "item/commandExecution/requestApproval *",
    ]
    assert events_of(talk.wants("s2", 8)) == ["item/commandExecution/requestApproval *"]
    done = talk.update("s2", sessionUpdate="tool_call_update", toolCallId="t", status="completed")
    assert events_of(done) == ["item/completed commandExecution completed ls *"]


def test_thread_is_resumed_once_and_its_replay_is_not_said_again() -> None:
    talk = Talk()
    assert talk.request("thread/resume", threadId="s9").replies == ()
    assert talk.refused("thread/resume", threadId="s9") == ("agent_running", None)
    assert talk.says("s9", "long ago") == Step()
    assert result(talk.result("session/load"))["thread"]["id"] == "s9"
    again = talk.request("thread/resume", threadId="s9")
    assert (result(again)["thread"]["id"], again.send) == ("s9", ())
    talk.turn("s9")
    talk.request("thread/resume", threadId="s8")
    gone = talk.error("session/load", "what?")
    assert gone.replies[0].error == {"code": -32600, "message": "there is no thread 's8': what?"}


def test_conversation_of_the_start_is_a_thread() -> None:
    talk = Talk(ready=False, conversation="s9")
    talk.result("initialize", agentCapabilities=ABLE)
    talk.result("session/load")
    assert talk.turn("s9")


def test_agent_that_tells_nothing_again_resumes_nothing() -> None:
    talk = Talk(able={})
    talk.thread("s1")
    unknown = ("invalid_request", "request.params.threadId")
    assert talk.refused("thread/resume", threadId="s9") == unknown
    assert talk.refused("thread/read", threadId="s1", includeTurns=True) == unknown
    assert result(talk.request("thread/read", threadId="s1"))["thread"]["id"] == "s1"
    assert result(talk.request("thread/list"))["data"] == []
    talk.turn("s1")
    (only,) = result(talk.request("thread/list", limit=5))["data"]
    assert (only["id"], only["preview"]) == ("s1", "go")


def test_open_threads_are_those_that_a_turn_can_begin_in() -> None:
    talk = Talk(ask=True)
    assert result(talk.request("thread/loaded/list")) == {"data": [], "nextCursor": None}
    talk.thread("s1")
    talk.thread("s2")
    assert result(talk.request("thread/loaded/list"))["data"] == ["s1", "s2"]


def test_threads_are_listed_as_the_agent_does() -> None:
    talk = Talk()
    assert talk.request("thread/list", limit=2).replies == ()
    sessions = [
        {"sessionId": "s1", "title": "One", "updatedAt": "2026-11-28T11:00:00Z"},
        {"sessionId": "s2", "cwd": "/workspace/a", "updatedAt": "soon"},
        {"sessionId": "s3"},
    ]
    step = talk.result("session/list", sessions=sessions)
    place = {"cwd": "/workspace", "turns": []}
    assert result(step) == {
        "data": [
            {"id": "s1", "preview": "One", "updatedAt": 1795863600, **place},
            {"id": "s2", "preview": "", "updatedAt": None, "cwd": "/workspace/a", "turns": []},
        ],
        "nextCursor": None,
    }
    talk.request("thread/list")
    assert talk.error("session/list", "no").replies == (Reply("r", error={"message": "no"}),)


def said_again(talk: Talk, session: str) -> None:
    def person(words: str, name: str) -> None:
        content = {"type": "text", "text": words}
        talk.update(session, sessionUpdate="user_message_chunk", content=content, messageId=name)

    talk.says(session, "before anybody", messageId="m0")
    person("go", "u1")
    talk.says(session, "Hi", messageId="m1")
    tool: Any = {"sessionUpdate": "tool_call", "toolCallId": "t", "status": "completed"}
    talk.update(session, **tool, kind="execute", rawInput={"command": "ls"})
    person("stop", "u2")
    person("next", "u3")
    talk.wants(session)
    talk.says(session, "Yes", messageId="m2")


def test_thread_is_read_as_the_agent_tells_it_again() -> None:
    talk = Talk(ask=True)
    assert talk.request("thread/read", threadId="s9", includeTurns=True).replies == ()
    said_again(talk, "s9")
    shown = result(talk.result("session/load"))["thread"]
    assert (shown["id"], shown["preview"]) == ("s9", "go")
    told_again = [
        (turn["id"], [(item["type"], item["id"]) for item in turn["items"]])
        for turn in shown["turns"]
    ]
    assert told_again == [
        ("u1", [("userMessage", "u1"), ("agentMessage", "m1:0"), ("commandExecution", "t")]),
        ("u2", [("userMessage", "u2")]),
        ("u3", [("userMessage", "u3"), ("agentMessage", "m2:0")]),
    ]
    assert talk.refused("turn/start", threadId="s9", input=GO)[0] == "invalid_request"


def test_thread_is_read_between_its_turns_only() -> None:
    talk = Talk()
    talk.thread("s1")
    talk.turn("s1")
    reading: Any = {"threadId": "s1", "includeTurns": True}
    assert talk.refused("thread/read", **reading) == ("agent_running", None)
    talk.result("session/prompt", stopReason="end_turn")
    talk.request("thread/read", **reading)
    assert talk.refused("turn/start", threadId="s1", input=GO) == ("agent_running", None)
    with pytest.raises(Conflict):
        talk.conversation.ask("not now")
    talk.says("s1", "again")
    assert result(talk.result("session/load"))["thread"]["preview"] == "go"
    talk.request("thread/read", threadId="s9")
    missing = talk.error("session/load", "what?")
    assert missing.replies[0].error == {"code": -32600, "message": "there is no thread 's9': what?"}
    talk.request("thread/read", threadId="s8")
    assert result(talk.result("session/load"))["thread"]["turns"] == []


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("turn/start", {"threadId": "s9", "input": GO}, "threadId"),
        ("turn/start", {"threadId": "s1", "input": []}, "input"),
        ("turn/steer", {"threadId": "s9", "expectedTurnId": "x", "input": GO}, "threadId"),
        ("turn/steer", {"threadId": "s1", "expectedTurnId": "x", "input": GO}, "expectedTurnId"),
        ("turn/interrupt", {"threadId": "s1", "turnId": "x"}, "turnId"),
    ],
)
def test_wrong_request_names_its_field(method: str, params: dict[str, Any], field: str) -> None:
    talk = Talk()
    talk.thread("s1")
    assert talk.refused(method, **params) == ("invalid_request", f"request.params.{field}")


def test_late_answer_of_a_change_settles_nothing() -> None:
    talk = Talk()
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}
    talk.request("thread/start")
    talk.request("thread/start")
    talk.result("session/new", sessionId="s2", modes=modes)
    talk.sent(talk.conversation.change("permission_mode", "a"))
    line = {"id": talk.calls["session/set_mode"]["id"], "result": {}}
    assert talk.conversation.take(line).settled == ""
    assert talk.conversation.take(line) == Step()


@pytest.mark.parametrize(
    ("name", "items", "last"),
    [
        ("opencode-acp", 5, "turn/completed completed *"),
        # The recording ends before the turn does.
        ("gemini-acp", 3, "item/completed dynamicToolCall completed *"),
        ("qwen-acp", 3, "turn/completed completed *"),
    ],
)
def test_recorded_stream_has_each_turn_and_item_once_and_in_order(
    name: str, items: int, last: str
) -> None:
    recorded = (FIXTURES / f"{name}.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in recorded]
    talk = Talk(ready=False, ask=True)
    events = [*talk.request("thread/start").events]
    prompt = next(one["msg"]["params"]["prompt"] for one in lines
                  if one["msg"].get("method") == "session/prompt")  # fmt: skip
    calls: dict[Any, str] = {}
    for line in lines:
        message = line["msg"]
        if line["dir"] == "in" and "method" in message:
            calls[message["id"]] = message["method"]
            step = Step()
            if message["method"] == "session/prompt":
                session = message["params"]["sessionId"]
                step = talk.request("turn/start", threadId=session, input=prompt)
        elif line["dir"] == "in":
            waiting = [one.id for one in events if one.id]
            step = Step()
            if message.get("result"):
                step = talk.request(
                    "serverRequest/respond", requestId=waiting[-1], result={"decision": "accept"}
                )
        elif "method" not in message:
            step = talk.result(calls[message["id"]], **message["result"])
        else:
            step = talk.sent(talk.conversation.take(message))
        events += step.events
    story = [one for one in told(events) if not one.startswith("agent/message")]
    assert story[:2] == ["thread/started", "turn/started inProgress"]
    assert story[-1] == last
    done = [one.params["item"]["id"] for one in events if one.method == "item/completed"]  # type: ignore[index,call-overload]
    begun = [one.params["item"]["id"] for one in events if one.method == "item/started"]  # type: ignore[index,call-overload]
    assert len(set(done)) == len(done) == items, story
    assert [one for one in done if one in begun] == begun
