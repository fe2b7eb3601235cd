"""opencode's own events as cards, as its plugin beside a terminal records them, line by line.

Source: the events of opencode's server (its OpenAPI). The plugin omits a sub-agent's session: the
tool card shows that it works.
"""

import msgspec

from atoll.domain.agents.card import AgentReport, CardKind, CardState, Draft, Value
from atoll.domain.agents.lenient_json import (
    Message,
    read_object,
    read_objects,
    read_text,
    remember,
    replacement_diff,
    short,
)

_KINDS = {
    "bash": CardKind.BASH,
    "edit": CardKind.DIFF,
    "write": CardKind.DIFF,
    "read": CardKind.FILE,
    "todowrite": CardKind.PLAN,
}
_STATES = {"completed": CardState.DONE, "error": CardState.FAILED}
_MARKS = {"completed": "[x]", "in_progress": "[~]"}


class OpencodeCards:
    """Translator of one session's events at a terminal."""

    def __init__(self) -> None:
        self._roles: dict[str, str] = {}
        self._turn = ""

    def take(self, message: Message) -> list[AgentReport]:
        """Translate one event."""
        properties = read_object(message, "properties")
        match read_text(message, "type"):
            case "message.updated":
                info = read_object(properties, "info")
                remember(self._roles, read_text(info, "id"), read_text(info, "role"))
                return []
            case "message.part.updated":
                return self._read_part(read_object(properties, "part"))
            case "session.idle":
                return self._end_turn(CardState.DONE)
            case "session.error":
                return self._read_error(read_object(properties, "error"))
            case _:
                return []

    def _read_part(self, piece: Message) -> list[AgentReport]:
        """Return the cards of a message part."""
        name, words = read_text(piece, "id"), read_text(piece, "text")
        match read_text(piece, "type"):
            case "text" if words:
                if self._roles.get(read_text(piece, "messageID")) == "user":
                    return self._prompt_card(piece, words)
                return [Draft(name, CardKind.TEXT, CardState.DONE, text=words)]
            case "reasoning" if words:
                return [Draft(name, CardKind.THINKING, CardState.DONE, text=words)]
            case "tool":
                return [_tool(piece)]
            case _:
                return []

    def _prompt_card(self, piece: Message, words: str) -> list[AgentReport]:
        """Add the card of a person's prompt; text that opencode adds by itself is left out."""
        if piece.get("synthetic") is True:
            return []
        reports = self._end_turn(CardState.DONE)
        self._turn = f"turn:{read_text(piece, 'messageID')}"
        role: dict[str, Value] = {"role": "person"}
        return [
            *reports,
            Draft(self._turn, CardKind.TURN, CardState.RUNNING, title=short(words)),
            Draft(read_text(piece, "id"), CardKind.TEXT, CardState.DONE, text=words, data=role),
        ]

    def _end_turn(self, state: CardState) -> list[AgentReport]:
        name, self._turn = self._turn, ""
        return [Draft(name, CardKind.TURN, state)] if name else []

    def _read_error(self, error: Message) -> list[AgentReport]:
        """Return the card of an error, and the end of the turn."""
        if read_text(error, "name") == "MessageAbortedError":
            return self._end_turn(CardState.DECLINED)
        words = read_text(read_object(error, "data"), "message") or read_text(error, "name")
        title = "opencode says"
        card = Draft(f"error:{short(words, 60)}", CardKind.STATUS, CardState.FAILED, title, words)
        return [card, *self._end_turn(CardState.FAILED)]


def _tool(piece: Message) -> Draft:
    call_state, name = read_object(piece, "state"), read_text(piece, "tool")
    kind = _KINDS.get(name, CardKind.TOOL_CALL)
    state = _STATES.get(read_text(call_state, "status"), CardState.RUNNING)
    given, output = read_object(call_state, "input"), read_text(call_state, "output", "error")
    card_id = read_text(piece, "callID") or read_text(piece, "id")
    path = read_text(given, "filePath")
    match kind:
        case CardKind.BASH:
            command = read_text(given, "command")
            data: dict[str, Value] = {"command": command} if command else {}
            return Draft(card_id, kind, state, short(command) or None, output or None, data)
        case CardKind.DIFF:
            lines = replacement_diff(
                read_text(given, "oldString"), read_text(given, "newString", "content")
            )
            data = {"path": path, **({"error": output} if state is CardState.FAILED else {})}
            return Draft(card_id, kind, state, path or None, lines or None, data)
        case CardKind.FILE:
            return Draft(card_id, kind, state, path or None, data={"path": path})
        case CardKind.PLAN:
            entries = read_objects(given, "todos")
            lines = "\n".join(
                f"{_MARKS.get(read_text(entry, 'status'), '[ ]')} {read_text(entry, 'content')}"
                for entry in entries
            )
            return Draft(card_id, kind, state, title="Plan", text=lines or None)
        case _:
            data = {"tool": name, "input": msgspec.json.encode(given).decode()}
            return Draft(card_id, kind, state, name, output or None, data)


TRANSCRIPTS = {"opencode": OpencodeCards}
