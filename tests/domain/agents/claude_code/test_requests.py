"""Requests of a worker to Claude Code: threads, turns and questions in Codex's words."""

import json
from typing import Any

import pytest

from atoll.domain.agents.card import Began, Card, CardKind, CardState, Draft, Value
from atoll.domain.agents.claude_code import transcripts
from atoll.domain.agents.claude_code.conversation import ClaudeConversation
from atoll.domain.agents.conversation import Reply, Restart, Step, Terms
from atoll.domain.errors import Conflict, Invalid, NotFound
from tests.domain.agents.cards.replay import FIXTURES
from tests.domain.agents.threads.story import events_of, told

FIRST = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
GO: list[Value] = [{"type": "text", "text": "go"}]
WANTS: Any = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
RESULT: Any = {"type": "result", "subtype": "success", "is_error": False}


STORY = """\
thread/started
turn/started inProgress
item/completed userMessage [[shell echo hi > sj.txt && cat sj.txt]] \
[[tool post_note {"text":"hello board"}]] [[write a.md alpha]] [[say Finished all three.]]
item/started commandExecution inProgress echo hi > sj.txt && cat sj.txt *
item/commandExecution/requestApproval *
serverRequest/resolved
item/completed commandExecution completed echo hi > sj.txt && cat sj.txt *
item/started dynamicToolCall inProgress *
item/toolCall/requestApproval *
serverRequest/resolved
item/completed dynamicToolCall completed *
item/started fileChange inProgress *
item/completed fileChange failed *
item/agentMessage/delta Finished
item/agentMessage/delta all
item/agentMessage/delta three.
item/completed agentMessage Finished all three. *
turn/completed completed *
turn/started inProgress
item/completed userMessage [[stall 60]]
turn/completed interrupted *
turn/started inProgress
item/completed userMessage [[say Still here after the interrupt.]]
item/agentMessage/delta Still
item/agentMessage/delta here
item/agentMessage/delta after
item/agentMessage/delta the
item/agentMessage/delta interrupt.
item/completed agentMessage Still here after the interrupt. *
turn/completed completed *
"""


def begun(**terms: Any) -> ClaudeConversation:
    talk = ClaudeConversation(Terms("/workspace", fresh=FIRST, **terms))
    greet(talk)
    return talk


def greet(talk: ClaudeConversation) -> Step:
    """Begin a process, which answers that it is there."""
    name = talk.begin().send[0]["request_id"]
    return talk.take({"type": "control_response",
                      "response": {"subtype": "success", "request_id": name}})  # fmt: skip


def introduced(talk: ClaudeConversation, session: str = FIRST) -> Step:
    return talk.take({"type": "system", "subtype": "init", "session_id": session})


def result(step: Step) -> Any:
    (reply,) = step.replies
    assert reply.error is None and reply.made
    return reply.result


def error(step: Step) -> Any:
    (reply,) = step.replies
    return reply.error


def worked() -> tuple[ClaudeConversation, str]:
    """A conversation with a turn in the first thread, and that turn."""
    talk = begun()
    talk.request("r1", "thread/start", {})
    step = talk.request("r2", "turn/start", {"threadId": FIRST, "input": GO})
    return talk, result(step)["turn"]["id"]


def refusal(talk: ClaudeConversation, method: str, **params: Any) -> tuple[str, str | None]:
    with pytest.raises((Invalid, Conflict)) as refused:
        talk.request("r9", method, params)
    return refused.value.code, refused.value.field


def test_first_thread_is_the_session_that_the_process_began_with() -> None:
    talk = begun()
    step = talk.request("r1", "thread/start", {})
    shown = {"id": FIRST, "preview": "", "cwd": "/workspace", "turns": []}
    assert result(step) == {"thread": shown, "cwd": "/workspace"}
    assert (events_of(step), step.restart) == (["thread/started"], None)


def test_second_thread_is_another_session_of_another_process() -> None:
    talk = begun()
    talk.request("r1", "thread/start", {})
    step = talk.request("r2", "thread/start", {})
    assert step.restart is not None and step.restart.fresh
    assert step.replies == ()
    for method, params in (
        ("thread/start", {}),
        ("thread/resume", {"threadId": OTHER}),
        ("turn/start", {"threadId": FIRST, "input": GO}),
    ):
        assert refusal(talk, method, **params) == ("agent_running", None)
    with pytest.raises(Conflict):
        talk.ask("not now")
    there = greet(talk)
    assert result(there)["thread"]["id"] == step.restart.conversation
    assert events_of(there) == ["thread/started"]
    back = talk.request("r3", "turn/start", {"threadId": FIRST, "input": GO})
    assert back.restart == Restart(FIRST, fresh=True)
    turn = result(greet(talk))["turn"]["id"]
    assert turn != FIRST
    talk.take(RESULT)
    again = talk.request("r4", "thread/resume", {"threadId": step.restart.conversation})
    assert again.restart == Restart(step.restart.conversation, fresh=True)
    greet(talk)
    last = talk.request("r5", "thread/resume", {"threadId": FIRST})
    assert last.restart == Restart(FIRST)


def test_turn_has_the_id_of_its_message_and_answers_at_once() -> None:
    talk = begun()
    talk.request("r1", "thread/start", {})
    step = talk.request("r2", "turn/start", {"threadId": FIRST, "input": [*GO, *GO]})
    turn = result(step)["turn"]
    (line,) = step.send
    assert (line["uuid"], turn["status"]) == (turn["id"], "inProgress")
    assert line["message"] == {"role": "user", "content": [{"type": "text", "text": "go\ngo"}]}
    assert Began() in step.said
    assert events_of(step) == [
        "turn/started inProgress",
        "item/completed userMessage go\ngo",
    ]
    introduced(talk)
    assert events_of(talk.take(RESULT)) == ["turn/completed completed *"]


def test_thread_that_is_not_there_is_answered_and_the_one_before_comes_back() -> None:
    talk = begun()
    talk.request("r1", "thread/start", {})
    step = talk.request("r2", "thread/resume", {"threadId": OTHER})
    assert step.restart == Restart(OTHER)
    late = talk.take(RESULT)
    assert (late.replies, late.restart) == ((), None)
    talk.begin()
    gone = talk.take({**RESULT, "subtype": "error_during_execution", "is_error": True})
    assert error(gone)["code"] == -32600 and OTHER in error(gone)["message"]
    assert gone.restart == Restart(FIRST, fresh=True)
    assert greet(talk) == Step(settings=None)
    assert result(talk.request("r3", "thread/resume", {"threadId": FIRST}))["thread"]["id"] == FIRST


def test_conversation_of_the_start_is_a_thread_and_another_can_be_left() -> None:
    talk = begun(conversation=OTHER)
    assert talk.request("r1", "turn/start", {"threadId": OTHER, "input": GO}).send
    talk.take(RESULT)
    step = talk.request("r2", "thread/start", {})
    assert step.restart is not None and step.restart.fresh
    resumed = begun(resume=True)
    step = resumed.request("r1", "thread/start", {})
    assert step.restart is not None and step.restart.fresh
    introduced(begun(resume=True), OTHER)


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("thread/resume", {"threadId": "--help"}, "threadId"),
        ("thread/resume", {"threadId": 7}, "threadId"),
        ("thread/read", {"threadId": "../x"}, "threadId"),
        ("turn/start", {"threadId": OTHER, "input": GO}, "threadId"),
        ("turn/start", {"threadId": FIRST, "input": []}, "input"),
        ("turn/start", {"threadId": FIRST, "input": "go"}, "input"),
        ("turn/start", {"threadId": FIRST, "input": [7]}, "input"),
        ("turn/start", {"threadId": FIRST, "input": [{"type": "image"}]}, "input"),
        ("turn/start", {"threadId": FIRST, "input": [{"type": "text", "text": " "}]}, "input"),
        ("turn/start", {"threadId": FIRST, "input": [{"type": "text", "text": "/clear"}]}, "input"),
        ("turn/steer", {"threadId": FIRST, "input": GO, "expectedTurnId": "x"}, "expectedTurnId"),
        ("turn/interrupt", {"threadId": FIRST, "turnId": ""}, "turnId"),
    ],
)
def test_wrong_request_names_its_field(method: str, params: dict[str, Any], field: str) -> None:
    talk = begun()
    talk.request("r1", "thread/start", {})
    assert refusal(talk, method, **params) == ("invalid_request", f"request.params.{field}")


def test_request_that_is_not_served_is_unsupported() -> None:
    assert refusal(begun(), "thread/fork", threadId=FIRST) == ("unsupported_method", "method")


def test_turn_is_steered_and_what_came_too_late_is_a_turn() -> None:
    talk, turn = worked()
    introduced(talk)
    step = talk.request(
        "r3", "turn/steer", {"threadId": FIRST, "expectedTurnId": turn, "input": GO}
    )
    assert result(step) == {"turnId": turn}
    assert events_of(step) == ["item/completed userMessage go"]
    (line,) = step.send
    talk.take(RESULT)
    later = introduced(talk)
    assert later.events[0].params["turn"] == {
        "id": line["uuid"], "status": "inProgress", "items": [], "error": None,
    }  # fmt: skip
    assert Began() in later.said
    talk.take(RESULT)
    assert events_of(introduced(talk)) == ["turn/started inProgress *"]


def test_interrupt_is_answered_when_claude_has_taken_it() -> None:
    talk, turn = worked()
    step = talk.request("r3", "turn/interrupt", {"threadId": FIRST, "turnId": turn})
    assert step.replies == ()
    (line,) = step.send
    response: Any = {"subtype": "success", "request_id": line["request_id"]}
    assert result(talk.take({"type": "control_response", "response": response})) == {}
    ended = talk.take({**RESULT, "subtype": "error_during_execution", "is_error": True})
    assert events_of(ended) == ["turn/completed interrupted *"]


def test_interrupt_that_claude_refuses_is_an_error() -> None:
    talk, turn = worked()
    (line,) = talk.request("r3", "turn/interrupt", {"threadId": FIRST, "turnId": turn}).send
    response: Any = {"subtype": "error", "request_id": line["request_id"], "error": "no"}
    step = talk.take({"type": "control_response", "response": response})
    assert step.replies == (Reply("r3", error={"message": "no"}),)


def asked(talk: ClaudeConversation, name: str = "c1", **request: Any) -> tuple[str, Card]:
    """Our id of a question, and its card."""
    step = talk.take({"type": "control_request", "request_id": name,
                      "request": {**WANTS, **request}})  # fmt: skip
    (event,) = step.events
    assert event.native and event.id not in ("", name)
    draft = next(one for one in step.said if isinstance(one, Draft))
    card = Card(1, 1, draft.id, 1, draft.kind, CardState.PENDING, "", options=draft.options or ())
    return event.id, card


def respond(talk: ClaudeConversation, question: str, **result: Any) -> Step:
    return talk.request(
        "r8", "serverRequest/respond", {"requestId": question, "result": {**result}}
    )


def test_question_is_answered_by_request_or_card_whichever_is_first() -> None:
    talk, _ = worked()
    question, card = asked(talk)
    with pytest.raises(Invalid):
        respond(talk, question)
    step = respond(talk, question, decision="accept")
    assert result(step) == {}
    (line,) = step.send
    assert line["response"] == {
        "subtype": "success", "request_id": "c1",
        "response": {"behavior": "allow", "updatedInput": {"command": "ls"}},
    }  # fmt: skip
    assert events_of(step) == ["serverRequest/resolved"]
    with pytest.raises(NotFound):
        talk.answer(card, "allow", None)
    question, card = asked(talk, "c2")
    assert events_of(talk.answer(card, "deny", "no")) == ["serverRequest/resolved"]
    with pytest.raises(Conflict) as late:
        respond(talk, question, decision="accept")
    assert late.value.code == "conflict"


def test_cancel_denies_and_breaks_the_turn_off() -> None:
    talk, _ = worked()
    question, _ = asked(talk)
    denied, interrupt = respond(talk, question, decision="cancel").send
    assert denied["response"]["response"]["behavior"] == "deny"  # type: ignore[index,call-overload]
    assert interrupt["request"] == {"subtype": "interrupt"}


def test_each_question_of_the_agent_has_its_own_answer() -> None:
    talk, _ = worked()
    both = [{"question": "Which?", "options": [{"label": "Red"}]}, {"question": "Why?"}]
    given: Any = {"questions": both}
    question, card = asked(talk, tool_name="AskUserQuestion", input=given)
    assert card.kind is CardKind.QUESTION
    with pytest.raises(Invalid):
        respond(talk, question)
    step = respond(talk, question, answers={"q1": {"answers": ["Red"]}, "q2": "Because"})
    told: Any = step.send[0]["response"]
    answers = {"Which?": "Red", "Why?": "Because"}
    assert told["response"]["updatedInput"] == {**given, "answers": answers}


def test_question_taken_back_is_resolved_and_what_sub_agents_say_is_no_item() -> None:
    talk, _ = worked()
    asked(talk)
    gone = talk.take({"type": "control_cancel_request", "request_id": "c1"})
    assert events_of(gone) == ["serverRequest/resolved *"]
    content: Any = [{"type": "text", "text": "inner"}]
    inner: Any = {"type": "assistant", "parent_tool_use_id": "t", "message": {"content": content}}
    assert events_of(talk.take(inner)) == ["agent/message *"]


def test_session_that_claude_began_by_itself_is_a_new_thread_after_the_turn() -> None:
    talk, _ = worked()
    introduced(talk, OTHER)
    assert events_of(talk.take(RESULT)) == ["turn/completed completed *", "thread/started"]
    assert talk.request("r3", "turn/start", {"threadId": OTHER, "input": GO}).send


def test_new_process_has_what_a_person_changed_and_no_turn_of_the_one_before() -> None:
    talk, _ = worked()
    (line,) = talk.change("model", "opus").send
    response: Any = {"subtype": "success", "request_id": line["request_id"]}
    assert talk.take({"type": "control_response", "response": response}).settled == ""
    step = talk.begin()
    assert [one["request"] for one in step.send] == [
        {"subtype": "initialize", "hooks": None},
        {"subtype": "set_model", "model": "opus"},
    ]
    assert events_of(step) == ["turn/completed completed"]
    assert talk.ask("next").send


def test_open_threads_are_those_that_a_turn_can_begin_in() -> None:
    talk = begun()
    assert result(talk.request("r1", "thread/loaded/list", {})) == {"data": [], "nextCursor": None}
    talk.request("r2", "thread/start", {})
    talk.request("r3", "thread/start", {})
    other = result(greet(talk))["thread"]["id"]
    assert result(talk.request("r4", "thread/loaded/list", {}))["data"] == [FIRST, other]


def test_threads_are_listed_from_the_transcripts() -> None:
    talk = begun()
    step = talk.request("r1", "thread/list", {"limit": 5})
    assert step.lookup is not None and step.lookup.argv[-2:] == ("-workspace", "5")
    many = talk.request("r1", "thread/list", {"limit": -5}).lookup
    assert many is not None and many.argv[-1] == "1"
    lines: list[Any] = [
        {"transcript": f"{FIRST}.jsonl", "at": 7},
        {"type": "user", "isMeta": True, "message": {"content": "not this"}},
        {"type": "user", "message": {"content": [{"type": "text", "text": "Do it\nnow"}]}},
        {"type": "user", "message": {"content": "and that"}},
        {"transcript": "../../x.jsonl", "at": 8},
        {"transcript": f"{OTHER}.jsonl"},
        {"type": "user", "message": {"content": "Go"}},
    ]
    place = {"cwd": "/workspace", "turns": []}
    assert result(step.lookup.read(lines)) == {
        "data": [
            {"id": FIRST, "preview": "Do it", "updatedAt": 7, **place},
            {"id": OTHER, "preview": "Go", "updatedAt": None, **place},
        ],
        "nextCursor": None,
    }
    assert result(step.lookup.read([]))["data"] == []


def test_thread_is_read_from_its_transcript() -> None:
    lines = [
        json.loads(line) for line in (FIXTURES / "claude-transcript.jsonl").read_text().splitlines()
    ]
    talk = begun()
    step = talk.request("r1", "thread/read", {"threadId": OTHER, "includeTurns": True})
    assert step.lookup is not None and step.lookup.argv[-1] == OTHER
    shown = result(step.lookup.read(lines))["thread"]
    assert (shown["id"], shown["preview"] != "") == (OTHER, True)
    kinds = [item["type"] for turn in shown["turns"] for item in turn["items"]]
    assert kinds[0] == "userMessage" and {"agentMessage", "commandExecution"} < set(kinds)
    names = [item["id"] for turn in shown["turns"] for item in turn["items"]]
    assert len(set(names)) == len(names)
    plain = talk.request("r2", "thread/read", {"threadId": OTHER}).lookup
    assert plain is not None and result(plain.read(lines))["thread"]["turns"] == []
    assert error(plain.read([]))["code"] == -32600


def test_thread_without_a_word_is_read_as_empty() -> None:
    talk = begun()
    talk.request("r1", "thread/start", {})
    step = talk.request("r2", "thread/read", {"threadId": FIRST, "includeTurns": True})
    assert step.lookup is not None
    assert result(step.lookup.read([]))["thread"]["turns"] == []


def test_conversation_to_go_on_with_that_has_no_transcript_is_unknown() -> None:
    talk = begun(conversation=OTHER)
    step = talk.request("r1", "thread/read", {"threadId": OTHER})
    assert step.lookup is not None
    assert error(step.lookup.read([]))["code"] == -32600
    known = step.lookup.read([{"type": "user", "uuid": "u", "message": {"content": "go"}}])
    assert result(known)["thread"]["id"] == OTHER


def test_words_during_a_turn_are_read_as_a_part_of_it() -> None:
    ok = [{"type": "text", "text": "ok"}]
    queued = {"type": "queued_command", "source_uuid": "s",
              "prompt": [{"type": "text", "text": "faster"}]}  # fmt: skip
    lines: list[Any] = [
        {"type": "assistant", "uuid": "early", "message": {"content": "x"}},
        {"type": "user", "uuid": "u", "message": {"content": "go"}},
        {"type": "attachment", "attachment": queued},
        {"type": "assistant", "isSidechain": True, "message": {"content": []}},
        {"type": "assistant", "uuid": "a", "message": {"content": ok}},
        {"type": "user", "uuid": "v", "message": {"content": "next"}},
    ]  # fmt: skip
    one, two = transcripts.turns(lines, FIRST)
    assert [(item["id"], item["type"]) for item in one["items"]] == [  # type: ignore[union-attr,call-overload,index]
        ("u", "userMessage"), ("s", "userMessage"), ("a:0", "agentMessage"),
    ]  # fmt: skip
    assert (one["id"], two["id"]) == ("u", "v")


def test_answer_holds_the_newest_turns_that_fit() -> None:
    talk = begun()
    step = talk.request("r1", "thread/read", {"threadId": OTHER, "includeTurns": True})
    assert step.lookup is not None
    long = "x" * 700_000
    lines: list[Any] = [
        {"type": "user", "uuid": name, "message": {"content": long}} for name in ("u", "v")
    ]
    assert [one["id"] for one in result(step.lookup.read(lines))["thread"]["turns"]] == ["v"]


def test_pieces_of_a_recorded_text_are_live_and_make_up_their_item() -> None:
    """Each has the name that its item has in the end, also where the thread is read again."""
    recorded = (FIXTURES / "claude-stream-json.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in recorded]
    talk, pieces, items = begun(), dict[str, str](), dict[str, str]()
    completed: list[str] = []
    for message in (line["msg"] for line in lines if line["dir"] == "out"):
        for event in talk.take(message).events:
            params: Any = event.params
            if event.live:
                assert params["itemId"] not in items, "a piece never follows its item"
                pieces[params["itemId"]] = pieces.get(params["itemId"], "") + params["delta"]
            elif event.method == "item/completed" and params["item"]["type"] == "agentMessage":
                items[params["item"]["id"]] = params["item"]["text"]
    assert list(items.values()) == ["Finished all three.", "Still here after the interrupt."]
    assert pieces == items
    written = [one["msg"] for one in lines if one["msg"]["type"] in ("assistant", "user")]
    for turn in transcripts.turns(written, FIRST):
        said: Any = turn["items"]
        completed += [one["id"] for one in said if one["type"] == "agentMessage"]
    # The turns of the recording were not begun by us, so they have names of their own.
    assert [one.partition(":")[2] for one in completed] == [one.partition(":")[2] for one in items]


def test_thinking_comes_in_pieces_and_an_empty_thought_is_no_item() -> None:
    talk = begun()
    talk.ask("go")
    introduced(talk)

    def written(event: Any) -> list[str]:
        return events_of(talk.take({"type": "stream_event", "event": event, "uuid": "e"}))

    def block(at: int, **content: str) -> dict[str, Any]:
        return {"type": "content_block_start", "index": at, "content_block": content}

    def piece(at: int, **delta: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": at, "delta": delta}

    assert written({"type": "message_start", "message": {"id": "msg_1"}}) == []
    assert written(block(0, type="thinking", thinking="")) == []
    assert written(piece(0, type="signature_delta", signature="x")) == []
    assert written(block(1, type="thinking", thinking="")) == []
    assert written(piece(1, type="thinking_delta", thinking="Hm.")) == [
        "item/reasoning/textDelta Hm."
    ]
    assert written(block(2, type="text", text="")) == []
    assert written(piece(2, type="text_delta", text="Hi.")) == ["item/agentMessage/delta Hi."]
    aside: Any = {"type": "stream_event", "parent_tool_use_id": "t", "uuid": "e",
             "event": piece(0, type="text_delta", text="of a subagent")}  # fmt: skip
    assert events_of(talk.take(aside)) == []


def test_recorded_stream_has_each_turn_and_item_once_and_in_order() -> None:
    recorded = (FIXTURES / "claude-stream-json.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in recorded]
    session = next(one["msg"]["session_id"] for one in lines if "session_id" in one["msg"])
    talk = ClaudeConversation(Terms("/workspace", ask=True, fresh=session))
    talk.begin()
    events = list(talk.request("r1", "thread/start", {}).events)
    natives = 0
    for line in lines:
        message = line["msg"]
        if line["dir"] == "out":
            step = talk.take(message)
            natives += sum(one.native for one in step.events)
        elif message["type"] == "user":
            step = talk.request(
                "r", "turn/start", {"threadId": session, "input": message["message"]["content"]}
            )
        elif message["type"] == "control_response":
            waiting = [one.id for one in events if one.id]
            step = respond(talk, waiting[-1], decision="accept")
        else:
            step = talk.interrupt()
        events += step.events
    kept = [
        one for one in lines
        if one["dir"] == "out" and one["msg"]["type"] not in ("stream_event", "control_response")
    ]  # fmt: skip
    assert natives == len(kept)
    lines_told = [one for one in told(events) if not one.startswith("agent/message")]
    assert [one.rstrip() for one in lines_told] == STORY.splitlines()
    names = [one.params["item"]["id"] for one in events if one.method == "item/completed"]  # type: ignore[index,call-overload]
    assert len(names) == len(set(names))
