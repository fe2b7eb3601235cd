"""Codex's lines as cards: what `codex exec --json` prints, and the rollout files its TUI writes."""

import msgspec

from atoll.domain.agents.card import (
    AgentReport,
    Began,
    CardKind,
    CardState,
    Draft,
    Interrupted,
    Yielded,
)
from atoll.domain.agents.codex.items import command_text, item_card, normalize_word
from atoll.domain.agents.lenient_json import Message, read_int, read_object, read_text, short

_CALLS_OF_COMMANDS = frozenset({"execcommand", "shell", "localshell", "shellcommand"})
"""The calls that run commands, spelled by `normalize_word`."""


class CodexExecCards:
    """Translator of the lines of one `codex exec --json`."""

    def __init__(self) -> None:
        self._turns = 0

    def take(self, message: Message) -> list[AgentReport]:
        """Translate one line."""
        kind = read_text(message, "type")
        match kind:
            case "item.started" | "item.updated" | "item.completed":
                card = item_card(read_object(message, "item"), done=kind == "item.completed")
                return [] if card is None else [card]
            case "turn.started":
                self._turns += 1
                return [self._turn(CardState.RUNNING), Began()]
            case "turn.completed":
                return [self._turn(CardState.DONE), Yielded()]
            case "turn.failed":
                words = read_text(read_object(message, "error"), "message")
                failed = Draft(f"end:{self._turns}", CardKind.STATUS, CardState.FAILED, text=words)
                return [failed, self._turn(CardState.FAILED), Yielded()]
            case "error":
                words = read_text(message, "message")
                return [
                    Draft(
                        f"error:{short(words, 60)}", CardKind.STATUS, CardState.FAILED, text=words
                    )
                ]
            case _:
                return []

    def _turn(self, state: CardState) -> Draft:
        return Draft(f"turn:{self._turns}", CardKind.TURN, state)


class CodexRolloutCards:
    """Translator of the lines of one rollout file: Codex's record of a TUI session."""

    def take(self, message: Message) -> list[AgentReport]:
        """Translate one line."""
        payload = read_object(message, "payload")
        match read_text(message, "type"):
            case "event_msg":
                return _event(payload)
            case "response_item" if read_text(payload, "type") == "function_call":
                return _call(payload)
            case _:
                return []


def _event(payload: Message) -> list[AgentReport]:
    turn = f"turn:{read_text(payload, 'turn_id')}"
    match read_text(payload, "type"):
        case "task_started" | "turn_started":
            return [Draft(turn, CardKind.TURN, CardState.RUNNING), Began()]
        case "task_complete" | "turn_complete":
            return _end_turn(payload, turn)
        case "turn_aborted":
            return [Draft(turn, CardKind.TURN, CardState.DECLINED), Yielded(), Interrupted()]
        case "item_started" | "item_completed":
            done = read_text(payload, "type") == "item_completed"
            card = item_card(read_object(payload, "item"), done=done)
            return [] if card is None else [card]
        case "error" | "stream_error" | "warning":
            words = read_text(payload, "message")
            state = CardState.FAILED if "error" in read_text(payload, "type") else CardState.DONE
            card_id = f"{read_text(payload, 'type')}:{short(words, 60)}"
            return [Draft(card_id, CardKind.STATUS, state, title="Codex says", text=words)]
        case _:
            return []


def _end_turn(payload: Message, turn: str) -> list[AgentReport]:
    """Return the end of a turn, with a card for its error."""
    took, error = (
        read_int(payload, "duration_ms"),
        read_text(read_object(payload, "error"), "message"),
    )
    state = CardState.FAILED if error else CardState.DONE
    data = {} if took is None else {"milliseconds": took}
    ended: list[AgentReport] = [Draft(turn, CardKind.TURN, state, data={**data}), Yielded()]
    if not error:
        return ended
    card_id, title = f"end:{read_text(payload, 'turn_id')}", "The turn failed"
    return [Draft(card_id, CardKind.STATUS, state, title=title, text=error), *ended]


def _call(payload: Message) -> list[AgentReport]:
    """Add the card of a tool call. Commands show at once; their output comes later as an item."""
    name, card_id = read_text(payload, "name"), read_text(payload, "call_id")
    if normalize_word(name) not in _CALLS_OF_COMMANDS or not card_id:
        return []
    try:
        given = msgspec.json.decode(read_text(payload, "arguments"))
    except (msgspec.DecodeError, RecursionError):
        return []
    if not isinstance(given, dict):
        return []
    words = read_text(given, "cmd") or command_text(given)
    return [
        Draft(
            card_id, CardKind.BASH, CardState.RUNNING, title=short(words), data={"command": words}
        )
    ]


TRANSCRIPTS = {"codex": CodexRolloutCards}
