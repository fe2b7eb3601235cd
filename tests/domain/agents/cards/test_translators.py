"""Translators are total: whatever an agent writes, they make cards or nothing, and never raise."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.domain.agents.acp.conversation import AcpConversation
from atoll.domain.agents.card import CardKind, CardState, Draft, Ended, Value, Yielded
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.claude_code.cards import ClaudeCards
from atoll.domain.agents.claude_code.conversation import ClaudeConversation
from atoll.domain.agents.codex.conversation import CodexConversation
from atoll.domain.agents.codex.files import CodexExecCards, CodexRolloutCards
from atoll.domain.agents.conversation import Conversation, Terms
from atoll.domain.agents.hooks import HOOK_COMMAND, Hooks, write_hooks
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.message_parts.cards import GeminiCards, QwenCards
from atoll.domain.agents.opencode.cards import OpencodeCards
from atoll.domain.agents.previews import previews
from atoll.domain.errors import Conflict, Invalid, NotFound
from tests.bounds import examples
from tests.domain.agents.cards.replay import AT, fields, first_draft

WORDS = st.sampled_from([
    "type", "method", "params", "id", "item", "message", "content", "update", "sessionUpdate",
    "assistant", "user", "tool_use", "tool_result", "session/update", "item/completed", "text",
    "toolCallId", "changes", "commandExecution", "fileChange", "input", "questions", "options",
    "status", "payload", "event_msg", "item_completed", "event", "stream_event", "control_request",
    "request", "can_use_tool", "subtype", "request_id", "session/request_permission", "result",
    "gemini", "parts", "functionCall", "functionResponse", "toolCalls", "thoughts", "properties",
    "message.part.updated", "part", "tool", "reasoning", "messageID", "session.error", "error",
    "turn/started", "turn", "plan", "tool_call", "kind", "execute", "edit", "diff", "oldText",
])  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=25,
)
MESSAGES = st.dictionaries(WORDS, VALUES, max_size=6)


TRANSLATORS: tuple[Callable[[], Any], ...] = (
    *(ClaudeCards, CodexExecCards, CodexRolloutCards, GeminiCards, OpencodeCards, QwenCards),
)
CONVERSATIONS: tuple[Callable[[], Conversation], ...] = (
    lambda: ClaudeConversation(Terms("/")),
    lambda: CodexConversation(Terms("/")),
    lambda: AcpConversation(Terms("/", ask=True)),
)


# To draw messages takes most of the time, so that all translators are given the same ones.
@given(messages=st.lists(MESSAGES, max_size=5))
@settings(max_examples=examples(50))
def test_translator_of_anything_makes_cards_or_nothing(messages: list[Any]) -> None:
    for make in TRANSLATORS:
        cards, log = make(), CardLog()
        for message in messages:
            for said in cards.take(message):
                if isinstance(said, Draft):
                    log.put(said, AT)


@given(messages=st.lists(MESSAGES, max_size=5))
def test_conversation_with_anything_goes_on(messages: list[Any]) -> None:
    for make in CONVERSATIONS:
        talk = make()
        talk.begin()
        for message in messages:
            talk.take(message)


def test_codex_conversation_asks_once_its_thread_stands_and_answers_what_it_is_asked() -> None:
    talk, log = CodexConversation(Terms("/workspace", ask=True)), CardLog()
    (hello,) = talk.begin().send
    assert talk.ask("do it").send == ()
    with pytest.raises(Conflict):
        talk.ask("and this")
    _, start = talk.take({"id": hello["id"], "result": {}}).send
    assert start["method"] == "thread/start"
    assert fields(start, "params")["approvalPolicy"] == "on-request"
    turn, _ = talk.take({"id": start["id"], "result": {"thread": {"id": "th"}}}).send
    assert turn["params"] == {"threadId": "th", "input": [{"type": "text", "text": "do it"}]}
    params: Value = {"itemId": "i", "command": "rm x", "availableDecisions": ["accept"]}
    asks: Message = {"method": "item/commandExecution/requestApproval", "id": 0, "params": params}
    for said in talk.take(asks).said:
        if isinstance(said, Draft):
            log.put(said, AT)
    card = log.get("approval:0")
    assert card is not None and card.state is CardState.PENDING
    assert [one.id for one in card.options] == ["accept", "decline"]
    with pytest.raises(Invalid):
        talk.answer(card, "perhaps", None)
    step = talk.answer(card, "decline", None)
    assert step.send == ({"id": 0, "result": {"decision": "decline"}},)
    assert first_draft(step).state is CardState.DECLINED
    with pytest.raises(NotFound):
        talk.answer(card, "accept", None)


def test_claude_conversation_repeats_the_input_of_what_it_allows() -> None:
    talk, log = ClaudeConversation(Terms("/")), CardLog()
    talk.begin()
    talk.ask("write it")
    asks: Message = {"type": "control_request", "request_id": "r9", "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}}  # fmt: skip
    for said in talk.take(asks).said:
        if isinstance(said, Draft):
            log.put(said, AT)
    card = log.get("approval:r9")
    assert card is not None and (card.kind, card.text) == (CardKind.APPROVAL, "ls")
    (line,) = talk.answer(card, "allow", None).send
    assert fields(line, "response", "response") == {
        "behavior": "allow",
        "updatedInput": {"command": "ls"},
    }


def test_claude_names_its_conversation_when_it_introduces_itself() -> None:
    talk = ClaudeConversation(Terms("/"))
    assert talk.take({"type": "assistant", "session_id": "s"}).conversation == ""
    assert talk.take({"type": "system", "subtype": "init", "session_id": "s"}).conversation == "s"


def test_hooks_follow_the_turn_and_the_question() -> None:
    hooks, log = Hooks(), CardLog()
    begun = hooks.read('{"session_id":"x","transcript_path":"/h/a \\"b.jsonl","hook_event_name":"UserPromptSubmit","prompt":"hook_event_name')  # fmt: skip # noqa: E501
    assert begun is not None and begun.transcript == '/h/a "b.jsonl'
    assert [type(one).__name__ for one in begun.said] == ["Began"]
    asked = hooks.read('{"hook_event_name":"PermissionRequest","tool_name":"Bash"')
    assert asked is not None and [type(one).__name__ for one in asked.said] == ["Draft", "Yielded"]
    done = hooks.read('{"hook_event_name":"PostToolUse","tool_name":"Bash"')
    assert done is not None and [type(one).__name__ for one in done.said] == ["Draft", "Worked"]
    for heard in (asked, done):
        assert isinstance(heard.said[0], Draft)
        log.put(heard.said[0], AT)
    assert [(card.title, card.state) for card in log.all()] == [
        ("The agent asks to use Bash", CardState.DONE)
    ]
    assert hooks.read("no json at all") is None
    # What a prompt or a tool's input says is behind the event's name, so it cannot pose as one.
    forged = hooks.read(
        '{"cwd":"/","hook_event_name":"Stop","x":"hook_event_name\\":\\"PreToolUse"}'
    )
    assert forged is not None and forged.event == "Stop"


@pytest.mark.parametrize(
    ("hook", "conversation"),
    [
        ('{"session_id":"s-1","hook_event_name":"UserPromptSubmit"', "s-1"),
        ('{"session_id":"s-1","hook_event_name":"SessionStart","source":"resume"', "s-1"),
        # Nothing was said in it yet, so there is nothing to go on with.
        ('{"session_id":"s-1","hook_event_name":"SessionStart","source":"startup"', None),
        ('{"session_id":"--help","hook_event_name":"UserPromptSubmit"', None),
        ('{"hook_event_name":"UserPromptSubmit","session_id":"forged"', None),
    ],
)
def test_hook_names_the_conversation_once_something_was_said(
    hook: str, conversation: str | None
) -> None:
    heard = Hooks().read(hook)
    assert heard is not None and heard.conversation == conversation


def test_hook_that_notifies_asks_once_in_its_own_words() -> None:
    hooks, log = Hooks(), CardLog()
    first = hooks.read('{"hook_event_name":"Notification","message":"May I \\"push\\"?"')
    second = hooks.read('{"hook_event_name":"Notification","title":"x"')
    for heard in (first, second):
        assert heard is not None and isinstance(heard.said[0], Draft)
        log.put(heard.said[0], AT)
    (card,) = log.all()
    assert (card.title, card.rev, card.state) == ("The agent asks for you", 2, CardState.PENDING)
    assert first is not None and isinstance(first.said[0], Draft)
    assert first.said[0].title == 'May I "push"?'


def test_hook_that_only_says_that_it_is_idle_asks_nothing() -> None:
    idle = Hooks().read('{"hook_event_name":"Notification","notification_type":"idle_prompt"')
    assert idle is not None and idle.said == (Ended(),)


def test_hook_at_the_end_of_a_turn_says_how_it_ended_and_one_at_the_start_yields() -> None:
    for event, state in (("Stop", CardState.DONE), ("StopFailure", CardState.FAILED)):
        heard = Hooks().read(f'{{"hook_event_name":"{event}"')
        assert heard is not None and heard.said == (Ended(state),)
    started = Hooks().read('{"hook_event_name":"SessionStart","source":"clear"')
    assert started is not None and started.said == (Yielded(),)


def test_hook_of_a_tool_that_waits_for_the_person_yields_and_unknown_events_say_nothing() -> None:
    asks = Hooks().read('{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion"')
    assert asks is not None and [type(one).__name__ for one in asks.said] == ["Draft", "Yielded"]
    unknown = Hooks().read('{"transcript_path":"relative","hook_event_name":"SomethingNew"')
    assert unknown is not None and (unknown.said, unknown.transcript) == ((), None)


def test_hook_of_a_turn_that_was_interrupted_ends_it_as_declined() -> None:
    heard = Hooks().read('{"hook_event_name":"Interrupt"')
    assert heard is not None and heard.said == (Ended(CardState.DECLINED),)


def test_hook_of_a_form_asks_with_its_words_until_it_is_answered() -> None:
    hooks = Hooks()
    asks = hooks.read('{"hook_event_name":"Elicitation","message":"Which colour?"')
    assert asks is not None and isinstance(asks.said[0], Draft)
    assert asks.said[0].title == "Which colour?"
    answered = hooks.read('{"hook_event_name":"ElicitationResult"')
    assert answered is not None and isinstance(answered.said[0], Draft)
    assert answered.said[0].state is CardState.DONE
    bare = Hooks().read('{"hook_event_name":"Elicitation"')
    assert bare is not None and isinstance(bare.said[0], Draft)
    assert bare.said[0].title == "A tool asks you a question"


@pytest.mark.parametrize("kind", ["auth_success", "elicitation_complete", "agent_completed"])
def test_notification_that_asks_for_nothing_says_nothing(kind: str) -> None:
    heard = Hooks().read(
        f'{{"hook_event_name":"Notification","message":"Done","notification_type":"{kind}"'
    )
    assert heard is not None and heard.said == ()


def test_hooks_of_a_settings_file_run_our_command_for_each_event() -> None:
    written = write_hooks(("Stop",), timeout=7, matched=True)
    hook = {"type": "command", "timeout": 7, "command": HOOK_COMMAND}
    assert written == {"Stop": [{"matcher": "", "hooks": [hook]}]}
    assert "matcher" not in str(write_hooks(("Stop",)))


def test_previews_are_the_sandbox_own_servers() -> None:
    text = (
        "Local: http://localhost:5173/app, and http://127.0.0.1:8082/broker "
        "https://example.com:99/ http://[::1]:4000."
    )
    assert [card.text for card in previews(text)] == [
        "http://localhost:5173/app",
        "http://[::1]:4000",
    ]


def test_previews_are_at_most_five_and_each_port_once() -> None:
    text = " ".join(f"http://localhost:{4000 + number // 2}/" for number in range(20))
    assert [card.id for card in previews(text)] == [f"preview:{4000 + n}" for n in range(5)]
