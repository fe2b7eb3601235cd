"""Events of a thread for a worker's stream: of its turns, items and questions.

They are made of the cards that the agent's translator makes anyway, so a phone and the stream show
the same. Each item is completed once, also one whose text the agent sends in pieces only.
"""

from collections.abc import Sequence

from atoll.domain.agents.card import AgentReport, CardKind, CardState, Draft, Value
from atoll.domain.agents.conversation import AgentEvent
from atoll.domain.agents.lenient_json import Message, remember
from atoll.domain.agents.threads.items import (
    FINAL,
    TEXTS,
    OpenItem,
    is_prompt,
    item_of,
    prompt_item,
)
from atoll.domain.agents.threads.questions import PREFIX, Questions

NATIVE = "agent/message"
"""The method of an agent's message that is no event of a turn."""

_DELTAS = {
    CardKind.TEXT: "item/agentMessage/delta",
    CardKind.THINKING: "item/reasoning/textDelta",
}
_STATUSES = {CardState.FAILED: "failed", CardState.DECLINED: "interrupted"}
_ITEMS = frozenset(CardKind) - {CardKind.STATUS, CardKind.TURN, CardKind.PREVIEW_LINK}


class ThreadEvents:
    """Translator of one thread. `turn` is the id of the turn that runs."""

    def __init__(self, thread: str, questions: Questions) -> None:
        self.thread = thread
        self.turn = ""
        self._questions = questions
        self._open: dict[str, OpenItem] = {}
        self._names: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._closed: dict[str, None] = {}
        self._outcome = CardState.DONE
        self._error = ""

    def opened(self, cwd: str) -> AgentEvent:
        """Return the event of a new thread."""
        return AgentEvent("thread/started", {"thread": thread_of(self.thread, cwd)})

    def begins(self, turn: str) -> tuple[AgentEvent, ...]:
        """Begin a turn."""
        self.turn, self._outcome, self._error = turn, CardState.DONE, ""
        self._closed.clear()
        return (self._event("turn/started", {"turn": turn_of(turn)}),)

    def heard(
        self,
        reports: Sequence[AgentReport],
        *,
        name: str = "",
        given: Message | None = None,
    ) -> tuple[AgentEvent, ...]:
        """Return the events of what a translator says. `name` is the agent's own of a message,
        `given` the input of a tool that a question is about."""
        events: list[AgentEvent] = []
        drafts = [report for report in reports if isinstance(report, Draft)]
        for at, draft in enumerate(drafts):
            if draft.id.startswith(PREFIX):
                events += self._add_question(draft, given or {})
            elif draft.kind in _ITEMS:
                events += self._update_item(draft, self._name(draft, name, at))
            else:
                self._note(draft)
        return tuple(events)

    def ends(self, *, interrupted: bool = False) -> tuple[AgentEvent, ...]:
        """End the turn, with all that is open in it."""
        if interrupted and self._outcome is CardState.FAILED and not self._error:
            self._outcome = CardState.DECLINED
        state = self._outcome if self._outcome is not CardState.DONE else CardState.FAILED
        events = [event for card_id in list(self._open) for event in self._end_item(card_id, state)]
        events += self._questions.withdrawn(self.thread)
        if self.turn:
            status = _STATUSES.get(self._outcome, "completed")
            turn = turn_of(self.turn, status, self._error if status == "failed" else "")
            events.append(self._event("turn/completed", {"turn": turn}))
        self.turn = ""
        return tuple(events)

    def _note(self, draft: Draft) -> None:
        """Note how the turn goes."""
        if draft.kind is CardKind.TURN and draft.state in FINAL:
            self._outcome = draft.state
        elif draft.kind is CardKind.STATUS and draft.state is CardState.FAILED:
            self._error = draft.text or draft.title or ""

    def _add_question(self, draft: Draft, given: Message) -> tuple[AgentEvent, ...]:
        if draft.state is not CardState.PENDING:
            return self._questions.settled(draft.id)
        subject = self._open.get(str((draft.data or {}).get("for")))
        about = None if subject is None else subject.draft.kind
        event = self._questions.asked(draft, self.thread, self.turn, about=about, given=given)
        return (*self._loose_ends(), event)

    def _update_item(self, draft: Draft, name: str) -> list[AgentEvent]:
        """Return the events of a draft: its item begins, grows or completes."""
        if draft.id in self._closed:
            return []
        events = list(self._loose_ends(draft.id))
        known = self._open.get(draft.id)
        if is_prompt(draft) and not draft.append:
            remember(self._closed, draft.id, None)
            return [*events, self._completion_event(prompt_item(draft, name))]
        if known is None:
            known = OpenItem(Draft(draft.id, draft.kind))
            remember(self._open, draft.id, known)
            starts = draft.kind not in TEXTS and draft.state not in FINAL
        else:
            starts = False
        known.take(draft)
        known.loose = draft.append and draft.state is CardState.DONE
        remember(self._names, draft.id, name)
        if draft.state in FINAL and not draft.append:
            return [*events, *self._close(draft.id)]
        if draft.append and draft.text and draft.kind in _DELTAS and not is_prompt(draft):
            events.append(self._delta_event(draft, name))
        if starts:
            events.append(self._event("item/started", {"item": item_of(known, name)}))
        return events

    def _delta_event(self, draft: Draft, name: str) -> AgentEvent:
        """Return a piece of a text, under the id of the whole item."""
        delta = self._event(_DELTAS[draft.kind], {"itemId": name, "delta": draft.text or ""})
        return AgentEvent(delta.method, delta.params, live=True)

    def _loose_ends(self, but: str = "") -> tuple[AgentEvent, ...]:
        """Complete the texts that came in pieces, now that something else comes."""
        done = [item_id for item_id, item in self._open.items() if item.loose and item_id != but]
        return tuple(event for card_id in done for event in self._close(card_id))

    def _end_item(self, card_id: str, state: CardState) -> list[AgentEvent]:
        """Complete an item that its turn left open."""
        item = self._open[card_id]
        if item.draft.kind in TEXTS and not item.draft.text:
            del self._open[card_id]
            return []
        if item.draft.kind not in TEXTS and item.draft.kind is not CardKind.PLAN:
            item.take(Draft(card_id, item.draft.kind, state))
        return self._close(card_id)

    def _close(self, card_id: str) -> list[AgentEvent]:
        item = self._open.pop(card_id)
        name = self._names.pop(card_id, card_id)
        remember(self._closed, card_id, None)
        if is_prompt(item.draft):
            return [self._completion_event(prompt_item(item.draft, name))]
        return [self._completion_event(item_of(item, name))]

    def _completion_event(self, item: dict[str, Value]) -> AgentEvent:
        return self._event("item/completed", {"item": item})

    def _name(self, draft: Draft, name: str, at: int) -> str:
        """Return the name of an item: the agent's own of its message, or of its tool."""
        if is_prompt(draft) and name:
            return name
        if draft.kind not in TEXTS:
            return draft.id
        if not name:
            return f"{self.turn}:{draft.id}"
        # Pieces of one message may stand on both sides of a tool.
        while self._texts.get(f"{name}:{at}", draft.id) != draft.id:
            at += 1
        if draft.text:
            # A text that has not begun may stay empty, and is no item then.
            remember(self._texts, f"{name}:{at}", draft.id)
        return f"{name}:{at}"

    def _event(self, method: str, params: dict[str, Value]) -> AgentEvent:
        place: dict[str, Value] = {"threadId": self.thread}
        if method.startswith("item/"):
            place["turnId"] = self.turn
        return AgentEvent(method, {**place, **params})


def thread_of(thread: str, cwd: str, preview: str = "") -> dict[str, Value]:
    """Return a thread without its turns."""
    return {"id": thread, "preview": preview, "cwd": cwd, "turns": []}


def turn_of(turn: str, status: str = "inProgress", error: str = "") -> dict[str, Value]:
    """Return a turn without its items."""
    why: Value = {"message": error or "The turn failed."} if status == "failed" else None
    return {"id": turn, "status": status, "items": [], "error": why}


def carry_message(
    events: Sequence[AgentEvent], thread: str, *, durable: bool
) -> tuple[AgentEvent, ...]:
    """Return the events of one message, the last of which carries it. One without any is an event
    by itself. A piece of a text is not kept."""
    if not durable:
        return tuple(events)
    before, last = list(events[:-1]), next(iter(events[-1:]), None)
    last = last or AgentEvent(NATIVE, {"threadId": thread})
    return (*before, AgentEvent(last.method, last.params, last.id, native=True))
