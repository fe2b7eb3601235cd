"""Transcripts made of Google's message parts as cards: what Gemini CLI and Qwen Code write at a
terminal.

Each agent wraps the parts in its own way, so each has a class. Neither records the end of a turn:
an answer that calls no tool ends it.
"""

import msgspec

from atoll.domain.agents.card import AgentReport, CardKind, CardState, Draft, Value
from atoll.domain.agents.lenient_json import (
    Message,
    name_of,
    read_object,
    read_objects,
    read_text,
    remember,
    replacement_diff,
    short,
)

_KINDS = {
    "run_shell_command": CardKind.BASH,
    "write_file": CardKind.DIFF,
    "edit": CardKind.DIFF,
    "replace": CardKind.DIFF,
    "read_file": CardKind.FILE,
}
_STATES = {
    "success": CardState.DONE,
    "error": CardState.FAILED,
    "cancelled": CardState.DECLINED,
}


class _Turns:
    """The turn cards of one transcript, by the message that began each."""

    def __init__(self) -> None:
        self._open = ""

    def asked(self, name: str, words: str) -> list[AgentReport]:
        """Add the card of a person's prompt."""
        reports = self.ended()
        self._open = f"turn:{name}"
        role: dict[str, Value] = {"role": "person"}
        return [
            *reports,
            Draft(self._open, CardKind.TURN, CardState.RUNNING, title=short(words)),
            Draft(f"user:{name}", CardKind.TEXT, CardState.DONE, text=words, data=role),
        ]

    def ended(self, state: CardState = CardState.DONE) -> list[AgentReport]:
        """End the turn: the answer was the last one, or an error took its place."""
        name, self._open = self._open, ""
        return [Draft(name, CardKind.TURN, state)] if name else []


class QwenCards:
    """Translator of one chat of Qwen Code."""

    def __init__(self) -> None:
        self._turns = _Turns()
        self._kinds: dict[str, CardKind] = {}

    def take(self, message: Message) -> list[AgentReport]:
        """Translate one line."""
        name, pieces = (
            read_text(message, "uuid"),
            read_objects(read_object(message, "message"), "parts"),
        )
        match read_text(message, "type"):
            case "user":
                words = _join_texts(pieces)
                return self._turns.asked(name, words) if words else []
            case "assistant":
                return self._reply_cards(name, pieces)
            case "tool_result":
                status = read_text(read_object(message, "toolCallResult"), "status")
                return [
                    self._response_card(read_object(piece, "functionResponse"), status)
                    for piece in pieces
                ]
            case "system":
                return _refusal(read_object(read_object(message, "systemPayload"), "uiEvent"))
            case _:
                return []

    def _reply_cards(self, name: str, pieces: list[Message]) -> list[AgentReport]:
        """Return the cards of a reply; one without tool calls ends the turn."""
        cards: list[AgentReport] = []
        for number, piece in enumerate(pieces):
            if call := read_object(piece, "functionCall"):
                card = _call(call, CardState.RUNNING)
                remember(self._kinds, card.id, card.kind)
                cards.append(card)
            elif words := read_text(piece, "text"):
                kind = CardKind.THINKING if piece.get("thought") is True else CardKind.TEXT
                cards.append(Draft(f"{name}:{number}", kind, CardState.DONE, text=words))
        if not any(read_object(piece, "functionCall") for piece in pieces):
            cards += self._turns.ended()
        return cards

    def _response_card(self, response: Message, status: str) -> Draft:
        """Return the card of a tool after its response."""
        card_id, output = name_of(response, "id"), read_object(response, "response")
        kind = self._kinds.get(card_id, CardKind.TOOL_CALL)
        return _end_tool_card(card_id, kind, read_text(output, "output", "error"), status)


class GeminiCards:
    """Translator of one session of Gemini CLI; a message is written again when it has grown."""

    def __init__(self) -> None:
        self._turns = _Turns()

    def take(self, message: Message) -> list[AgentReport]:
        """Translate one line."""
        name = read_text(message, "id")
        match read_text(message, "type"):
            case "user":
                words = _join_texts(read_objects(message, "content"))
                return self._turns.asked(name, words) if words else []
            case "gemini":
                return self._reply_cards(name, message)
            case "info" | "warning" | "error" as word:
                state = CardState.FAILED if word == "error" else CardState.DONE
                words = read_text(message, "content")
                draft = Draft(name, CardKind.STATUS, state, title="Gemini says", text=words)
                return [draft, *self._turns.ended(state)] if word == "error" else [draft]
            case _:
                return []

    def _reply_cards(self, name: str, message: Message) -> list[AgentReport]:
        """Return the cards of a reply; one without tool calls ends the turn."""
        cards: list[AgentReport] = []
        thoughts = [
            read_text(thought, "description", "subject")
            for thought in read_objects(message, "thoughts")
        ]
        if any(thoughts):
            words = "\n".join(filter(None, thoughts))
            cards.append(Draft(f"{name}:thoughts", CardKind.THINKING, CardState.DONE, text=words))
        calls, words = read_objects(message, "toolCalls"), read_text(message, "content")
        if words:
            cards.append(Draft(f"{name}:0", CardKind.TEXT, CardState.DONE, text=words))
        for call in calls:
            status, begun = read_text(call, "status"), _call(call, CardState.RUNNING)
            cards.append(begun)
            if status in _STATES:
                cards.append(_end_tool_card(begun.id, begun.kind, _output(call), status))
        return [*cards, *self._turns.ended()] if words and not calls else cards


def _refusal(event: Message) -> list[AgentReport]:
    """Return the card of a request that the provider refused; its turn's end is reported by a
    hook."""
    words = read_text(event, "error_message")
    if read_text(event, "event.name") != "qwen-code.api_error" or not words:
        return []
    title = "The model could not be asked"
    return [Draft(f"error:{short(words, 60)}", CardKind.STATUS, CardState.FAILED, title, words)]


def _join_texts(pieces: list[Message]) -> str:
    return "\n".join(filter(None, (read_text(piece, "text") for piece in pieces)))


def _call(call: Message, state: CardState) -> Draft:
    """Add the card of a tool that begins."""
    name, given = read_text(call, "name"), read_object(call, "args")
    kind = _KINDS.get(name, CardKind.TOOL_CALL)
    path = read_text(given, "file_path", "absolute_path", "path")
    card_id = name_of(call, "id") or name
    match kind:
        case CardKind.BASH:
            command = read_text(given, "command")
            return Draft(card_id, kind, state, title=short(command), data={"command": command})
        case CardKind.DIFF:
            old, new = read_text(given, "old_string"), read_text(given, "new_string", "content")
            data: dict[str, Value] = {"path": path}
            return Draft(
                card_id, kind, state, title=path, text=replacement_diff(old, new), data=data
            )
        case CardKind.FILE:
            return Draft(card_id, kind, state, title=path, data={"path": path})
        case _:
            fields: dict[str, Value] = {"tool": name, "input": msgspec.json.encode(given).decode()}
            return Draft(card_id, kind, state, title=name, data=fields)


def _end_tool_card(card_id: str, kind: CardKind, output: str, status: str) -> Draft:
    """End the card of a tool. A card of file changes keeps its lines; the result becomes a note."""
    state = _STATES.get(status, CardState.DONE)
    if kind in (CardKind.DIFF, CardKind.FILE):
        word = "error" if state is CardState.FAILED else "note"
        return Draft(card_id, kind, state, data={word: output} if output else None)
    return Draft(card_id, kind, state, text=output or None)


def _output(call: Message) -> str:
    first = next(iter(read_objects(call, "result")), {})
    return read_text(
        read_object(read_object(first, "functionResponse"), "response"), "output", "error"
    )


TRANSCRIPTS = {"gemini": GeminiCards, "qwen": QwenCards}
