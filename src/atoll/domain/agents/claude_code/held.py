"""The questions that Claude Code's held hooks wait with: permissions, plans and its own questions.

The shapes are those of Claude Code 2.1.332. A `PermissionRequest` names no tool use, so what a
later hook says of the same tool and input settles it.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from atoll.domain.agents.card import QUESTION_TITLE, CardKind, Value
from atoll.domain.agents.claude_code.tools import tool_card
from atoll.domain.agents.lenient_json import Message, read_object, read_objects, read_text
from atoll.domain.agents.terminal_question import (
    MAX_PARTS,
    TerminalQuestion,
    permission,
    question_parts,
)

_OVER = re.compile(
    r'"hook_event_name"\s*:\s*"(?:PostToolUse|PostToolUseFailure|PermissionDenied)".*?'
    r'"tool_name"\s*:\s*"([^"\\\x00-\x1f]{1,80})"\s*,\s*"tool_input"\s*:\s*(.*)',
    re.DOTALL,
)
_QUESTION_TOOL = "AskUserQuestion"
_SHOWN: Mapping[CardKind, frozenset[str]] = {
    CardKind.BASH: frozenset({"command", "description"}),
    CardKind.DIFF: frozenset({
        "file_path", "notebook_path", "old_string", "new_string", "new_source", "content", "edits",
    }),
    CardKind.FILE: frozenset({"file_path"}),
    CardKind.PLAN: frozenset({"plan", "todos"}),
}  # fmt: skip
"""The fields of a tool's input that its card shows."""
MAX_PROBE = 200
CUT = 1400
"""A line of so many characters may be cut off."""


class ClaudeHeld:
    """See `HeldQuestions`."""

    def read(self, card_id: str, message: Message) -> TerminalQuestion | None:
        """Return the question of a `PermissionRequest`."""
        tool, given = read_text(message, "tool_name"), read_object(message, "tool_input")
        if read_text(message, "hook_event_name") != "PermissionRequest" or not tool:
            return None
        if tool != _QUESTION_TOOL:
            return permission(card_id, f"Allow {tool}?", _spell_input(tool, given))
        asked = question_parts(given)
        if (
            not asked
            or len(asked) != len(read_objects(given, "questions"))
            or len(asked) > MAX_PARTS
        ):
            return None
        return TerminalQuestion(card_id, CardKind.QUESTION, QUESTION_TITLE, asked)

    def reply(self, message: Message, question: TerminalQuestion) -> Mapping[str, object]:
        """Return the decision, with the answers where the agent asked."""
        given, decision = read_object(message, "tool_input"), dict[str, object]()
        if question.kind is CardKind.QUESTION:
            asked = [read_text(entry, "question") for entry in read_objects(given, "questions")]
            answers = dict(zip(asked, question.labels(), strict=False))
            decision = {"behavior": "allow", "updatedInput": {**given, "answers": answers}}
        elif question.denied:
            decision = {"behavior": "deny", "message": "The person declined this."}
        else:
            decision = {"behavior": "allow", "updatedInput": {**given}}
        output = {"hookEventName": "PermissionRequest", "decision": decision}
        return {"hookSpecificOutput": output}

    def settles(self, message: Message, line: str) -> bool:
        """Report whether a tool's end is that of the tool that was asked about. Its input may be in
        another order, and the line cut off."""
        over = _OVER.search(line)
        if over is None or over[1] != read_text(message, "tool_name"):
            return False
        matches = [probe in over[2] for probe in _probes({**read_object(message, "tool_input")})]
        return any(matches) if len(line) >= CUT else all(matches)


def _probes(given: Value) -> Iterator[str]:
    """Yield the beginning of each text in a tool's input, as JSON spells it."""
    match given:
        case str():
            yield msgspec.json.encode(given).decode()[1:-1][:MAX_PROBE]
        case dict():
            for value in given.values():
                yield from _probes(value)
        case list():
            for value in given:
                yield from _probes(value)
        case _:
            return


def _spell_input(tool: str, given: Message) -> str:
    """Return what exactly an answer allows: what the tool's card shows, and each other field."""
    card = tool_card({"name": tool, "input": dict(given), "id": ""})
    match card.kind:
        case CardKind.BASH:
            about = read_text(given, "command")
        case CardKind.DIFF:
            about = f"{card.title}\n{card.text}"
        case CardKind.FILE:
            about = card.title or ""
        case CardKind.PLAN:
            about = card.text or ""
        case _:
            about = ""
    if not about.strip():
        return msgspec.json.encode(given).decode()
    shown = _SHOWN.get(card.kind, frozenset())
    more = (
        f"{name}: {msgspec.json.encode(value).decode()}"
        for name, value in given.items()
        if name not in shown
    )
    return "\n".join((about.strip(), *more))


HELD_QUESTIONS = {"claude": ClaudeHeld}
