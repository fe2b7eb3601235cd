"""The contracts of an agent's readers: Transcript and Conversation of `atoll.domain.agents`.

Subclass one in a test module. Fixtures: `make`, the reader as `TRANSCRIPTS` or `CONVERSATIONS` has
it; `messages`, lines that the agent really wrote, in order, from which the hostile ones are made.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import pytest

from atoll.domain.agents.card import AgentReport, Card, CardKind, CardState, Draft, Value
from atoll.domain.agents.card_log import CardLog
from atoll.domain.agents.conversation import Conversation, Step, Terms
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.readers import Transcript
from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.wire.words.walls import WORKSPACE

MakeTranscript: TypeAlias = Callable[[], Transcript]
MakeConversation: TypeAlias = Callable[[Terms], Conversation]

AT = "2026-01-01T00:00:00.000Z"
PLAIN = Terms(WORKSPACE)
TERMS = (
    PLAIN,
    Terms(WORKSPACE, ask=True),
    Terms(WORKSPACE, resume=True),
    Terms(WORKSPACE, conversation="c-1"),
)
MOST_MESSAGES = 60
HOSTILE: tuple[Value, ...] = (
    None, True, -1, 2**70, 1.5, "", "../\0\x1b[2J", "x" * 100_000, [], [None, 1, "a", {}], {},
    {"type": {}, "id": []},
)  # fmt: skip


def mutations(value: Value) -> Iterator[Value]:
    """Yield this value with one part of it replaced or left out, for each part."""
    yield from HOSTILE
    if isinstance(value, dict):
        for name, inner in value.items():
            yield {key: part for key, part in value.items() if key != name}
            for other in mutations(inner):
                yield {**value, name: other}
    if isinstance(value, list) and value:
        for other in mutations(value[0]):
            yield [other, *value[1:]]


def hostile(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages that are nearly those of the agent."""
    for message in messages:
        for other in mutations(dict(message)):
            if isinstance(other, dict):
                yield other


def show(log: CardLog, reports: Iterable[AgentReport]) -> int:
    """Put the cards of these reports into a log, and return their number."""
    drafts = [draft for draft in reports if isinstance(draft, Draft)]
    for draft in drafts:
        log.put(draft, AT)
    return len(drafts)


def sent_lines(step: Step) -> list[str]:
    """Return the lines for the agent, each of which is JSON on one line."""
    lines = [json.dumps(line) for line in step.send]
    assert not any("\n" in line for line in lines)
    return lines


class TranscriptContract:
    """Contract of a reader of what an agent writes down: the same lines give the same cards, and
    no line raises."""

    def test_lines_of_the_agent_give_cards(
        self, make: MakeTranscript, messages: list[Message]
    ) -> None:
        reader, log = make(), CardLog()
        assert sum(show(log, reader.take(message)) for message in messages) > 0
        assert log.all()

    def test_readers_share_nothing(self, make: MakeTranscript, messages: list[Message]) -> None:
        first, two = make(), make()
        for message in messages:
            assert first.take(message) == two.take(message)

    def test_empty_and_unknown_lines_say_nothing(self, make: MakeTranscript) -> None:
        reader = make()
        assert reader.take({}) == []
        assert reader.take({"type": "nobody-writes-a-line-so"}) == []

    def test_reading_changes_no_line(self, make: MakeTranscript, messages: list[Message]) -> None:
        before = json.dumps(messages)
        reader = make()
        for message in messages:
            reader.take(message)
        assert json.dumps(messages) == before

    def test_no_line_raises(self, make: MakeTranscript, messages: list[Message]) -> None:
        reader, log = make(), CardLog()
        for message in hostile(messages[:MOST_MESSAGES]):
            show(log, reader.take(message))


class ConversationContract:
    """Contract of a machine mode: it begins with whatever terms, keeps its turns apart, and no
    message of the agent raises."""

    @pytest.mark.parametrize("terms", TERMS)
    def test_beginning_sends_the_first_lines(self, make: MakeConversation, terms: Terms) -> None:
        try:
            assert sent_lines(make(terms).begin())
        except Invalid as refused:
            assert terms.resume and refused.field == "resume"

    def test_lines_of_the_agent_give_cards(
        self, make: MakeConversation, messages: list[Message]
    ) -> None:
        conversation, log = make(PLAIN), CardLog()
        conversation.begin()
        assert sum(show(log, conversation.take(message).said) for message in messages) > 0

    def test_conversations_share_nothing(
        self, make: MakeConversation, messages: list[Message]
    ) -> None:
        first, two = make(PLAIN), make(PLAIN)
        assert first.begin() == two.begin()
        for message in messages:
            assert first.take(message) == two.take(message)

    def test_prompt_during_a_turn_is_a_conflict(self, make: MakeConversation) -> None:
        conversation = make(PLAIN)
        conversation.begin()
        sent_lines(conversation.ask("first\nsecond line \u2713"))
        with pytest.raises(Conflict) as refused:
            conversation.ask("another")
        assert refused.value.code == "agent_running"

    def test_interruption_without_a_turn_does_nothing(self, make: MakeConversation) -> None:
        conversation = make(PLAIN)
        conversation.begin()
        for _ in range(2):
            assert conversation.interrupt() == Step()

    @pytest.mark.parametrize("kind", [CardKind.APPROVAL, CardKind.QUESTION, CardKind.TEXT])
    def test_answer_that_nothing_waits_for_is_not_found(
        self, make: MakeConversation, kind: CardKind
    ) -> None:
        conversation = make(PLAIN)
        conversation.begin()
        card = Card(
            seq=1, n=1, id="approval:" + "9" * 500, rev=1, kind=kind, state=CardState.PENDING, at=AT
        )
        for option, words in (("accept", None), (None, "words"), (None, None)):
            with pytest.raises(NotFound) as refused:
                conversation.answer(card, option, words)
            assert refused.value.code == "not_pending" and len(refused.value.message) < 300

    def test_no_message_raises(self, make: MakeConversation, messages: list[Message]) -> None:
        conversation, log = make(PLAIN), CardLog()
        conversation.begin()
        for message in hostile(messages[:MOST_MESSAGES]):
            step = conversation.take(message)
            show(log, step.said)
            sent_lines(step)
        sent_lines(conversation.interrupt())
