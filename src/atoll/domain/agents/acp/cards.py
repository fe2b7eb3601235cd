"""The Agent Client Protocol's updates as cards, one to one (opencode, Gemini CLI, Qwen Code).

Source: agentclientprotocol.com, protocol version 1. An instance translates one session.
"""

import msgspec

from atoll.domain.agents.acp.forms import read_form, read_questions
from atoll.domain.agents.card import (
    AgentReport,
    Began,
    CardKind,
    CardState,
    Draft,
    Option,
    Value,
    Yielded,
)
from atoll.domain.agents.lenient_json import (
    Message,
    changed,
    name_of,
    part,
    parts,
    remember,
    short,
    text,
)

PERMISSION = "session/request_permission"
FORM = "elicitation/create"

_KINDS = {
    "execute": CardKind.BASH,
    "edit": CardKind.DIFF,
    "read": CardKind.FILE,
    "think": CardKind.THINKING,
}
_STATES = {
    "pending": CardState.RUNNING,
    "in_progress": CardState.RUNNING,
    "completed": CardState.DONE,
    "failed": CardState.FAILED,
}
_CHUNKS = {
    "agent_message_chunk": CardKind.TEXT,
    "user_message_chunk": CardKind.TEXT,
    "agent_thought_chunk": CardKind.THINKING,
}
_MARKS = {"completed": "[x]", "in_progress": "[~]"}
_ENDS = {"end_turn": CardState.DONE, "cancelled": CardState.DECLINED}


class AcpCards:
    """Translator of one session's updates."""

    def __init__(self) -> None:
        self._turns = 0
        self._steers = 0
        self._chunk = ""
        self._chunks = 0
        self._kinds: dict[str, CardKind] = {}
        self._pending: dict[str, CardKind] = {}

    def take(self, message: Message) -> list[AgentReport]:
        """Translate one message of the agent."""
        method, params = text(message, "method"), part(message, "params")
        if method == PERMISSION and read_questions(params) is None:
            return self._permission(name_of(message, "id"), params)
        if method in (PERMISSION, FORM):
            return self._question(name_of(message, "id"), params)
        return self._update(part(params, "update")) if method == "session/update" else []

    def asked(self, words: str) -> list[AgentReport]:
        """Add the card of a person's prompt; the agent does not repeat it."""
        self._turns, self._chunk = self._turns + 1, ""
        data: dict[str, Value] = {"role": "person"}
        return [
            Draft(f"turn:{self._turns}", CardKind.TURN, CardState.RUNNING, title=short(words)),
            Draft(f"user:{self._turns}", CardKind.TEXT, CardState.DONE, text=words, data=data),
            Began(),
        ]

    def steered(self, words: str) -> list[AgentReport]:
        """Add the card of what a person says during a turn."""
        self._steers, self._chunk = self._steers + 1, ""
        data: dict[str, Value] = {"role": "person"}
        name = f"user:steer:{self._steers}"
        return [Draft(name, CardKind.TEXT, CardState.DONE, text=words, data=data)]

    def ended(self, reason: str, error: str = "") -> list[AgentReport]:
        """End the turn by the answer to its prompt: a stop reason, or an error."""
        self._chunk = ""
        reports: list[AgentReport] = []
        if error:
            title = "The turn failed"
            reports.append(
                Draft(f"end:{self._turns}", CardKind.STATUS, CardState.FAILED, title, error)
            )
        state = CardState.FAILED if error else _ENDS.get(reason, CardState.FAILED)
        data: dict[str, Value] = {"reason": reason}
        return [*reports, Draft(f"turn:{self._turns}", CardKind.TURN, state, data=data), Yielded()]

    def answered(self, request: str, *, accepted: bool) -> list[AgentReport]:
        """Record a person's answer to a pending card."""
        kind = self._pending.pop(request, None)
        if kind is None:
            return []
        state = CardState.DONE if accepted else CardState.DECLINED
        return [Draft(f"approval:{request}", kind, state), Began()]

    def _update(self, update: Message) -> list[AgentReport]:
        name = text(update, "sessionUpdate")
        kind = _CHUNKS.get(name)
        if kind is not None:
            return self._piece(update, name, kind)
        self._chunk = ""
        match name:
            case "tool_call" | "tool_call_update":
                return [self._tool(update)]
            case "plan":
                entries = parts(update, "entries")
                lines = [
                    f"{_MARKS.get(text(entry, 'status'), '[ ]')} {text(entry, 'content')}"
                    for entry in entries
                ]
                over = bool(entries) and all(text(e, "status") == "completed" for e in entries)
                state = CardState.DONE if over else CardState.RUNNING
                card_id = f"plan:{self._turns}"
                return [Draft(card_id, CardKind.PLAN, state, title="Plan", text="\n".join(lines))]
            case _:
                return []

    def _piece(self, update: Message, name: str, kind: CardKind) -> list[AgentReport]:
        """Append a piece of a message. Without an id, consecutive pieces are one message."""
        words = text(part(update, "content"), "text")
        if not words:
            return []
        named = text(update, "messageId")
        if not self._chunk.startswith(f"{name}:{named}:"):
            self._chunks += 1
            self._chunk = f"{name}:{named}:{self._chunks}"
        card_id = f"{named or 'said'}:{self._chunks}"
        role: dict[str, Value] | None = {"role": "person"} if name.startswith("user") else None
        return [Draft(card_id, kind, CardState.DONE, text=words, data=role, append=True)]

    def _tool(self, update: Message) -> Draft:
        card_id = text(update, "toolCallId")
        kind = self._kind(card_id, text(update, "kind"))
        given, title = part(update, "rawInput"), text(update, "title")
        data: dict[str, Value] = {}
        command, path = text(given, "command"), _path(update, given)
        if kind is CardKind.BASH and command:
            data["command"] = command
        if path and kind in (CardKind.DIFF, CardKind.FILE):
            data["path"] = path
        if kind is CardKind.TOOL_CALL and given:
            data["input"] = msgspec.json.encode(given).decode()
        words, diff = _content(update)
        if kind is CardKind.DIFF:
            data = {**data, "note": words} if words else data
            words = diff
        state = _STATES.get(text(update, "status"))
        return Draft(card_id, kind, state, title=title or None, text=words or None, data=data)

    def _kind(self, card_id: str, word: str) -> CardKind:
        """Return a tool's kind; an update may omit it, and never changes it."""
        known = self._kinds.get(card_id)
        if known is None:
            known = _KINDS.get(word, CardKind.TOOL_CALL)
            remember(self._kinds, card_id, known)
        return known

    def _permission(self, request: str, params: Message) -> list[AgentReport]:
        self._chunk = ""
        call = part(params, "toolCall")
        tool, given = self._announced(call), part(call, "rawInput")
        words = text(given, "command") or _path(call, given) or _content(call)[1]
        remember(self._pending, request, CardKind.APPROVAL)
        options = parts(params, "options")
        lasting: list[Value] = [
            text(option, "optionId")
            for option in options
            if text(option, "kind").endswith("_always")
        ]
        data: dict[str, Value] = {"answerable": True, "for": text(call, "toolCallId")}
        card = Draft(
            id=f"approval:{request}",
            kind=CardKind.APPROVAL,
            state=CardState.PENDING,
            title=f"Allow {_subject(call, words)}?",
            text=words,
            options=tuple(_option(option) for option in options),
            data={**data, "lasting": lasting} if lasting else data,
        )
        return [*tool, card, Yielded()]

    def _question(self, request: str, params: Message) -> list[AgentReport]:
        """Add the card of a form that waits for its answer."""
        self._chunk = ""
        form = read_questions(params) or read_form(params)
        remember(self._pending, request, CardKind.QUESTION)
        about = text(params, "toolCallId") or text(part(params, "toolCall"), "toolCallId")
        card = Draft(
            id=f"approval:{request}",
            kind=CardKind.QUESTION,
            state=CardState.PENDING,
            title="The agent asks",
            text=form.card_text,
            options=form.options,
            data={"answerable": True, "for": about},
        )
        return [card, Yielded()]

    def _announced(self, call: Message) -> list[AgentReport]:
        """Return the card of a tool that no update has named so far: some agents ask first. What a
        permission says beside a diff is no output of the tool."""
        name = text(call, "toolCallId")
        if not name or name in self._kinds:
            return []
        pieces = parts(call, "content")
        diffs: list[Value] = [{**piece} for piece in pieces if text(piece, "type") == "diff"]
        return [self._tool({**call, "content": diffs, "status": "pending"})]


def _subject(call: Message, words: str) -> str:
    """Return the title of a call. opencode repeats the command or path, which follows anyway."""
    title = text(call, "title")
    if title != words:
        return title or "this"
    command = text(part(call, "rawInput"), "command")
    return ("this command" if command else "this file") if words else "this"


def _option(option: Message) -> Option:
    kind = text(option, "kind")
    effect = "allow" if kind.startswith("allow") else "deny"
    return Option(text(option, "optionId"), text(option, "name"), effect)


def _path(update: Message, given: Message) -> str:
    first = next(iter(parts(update, "locations")), {})
    return text(first, "path") or text(given, "filePath", "file_path", "path")


def _content(update: Message) -> tuple[str, str]:
    """Return the text of a tool call, and the diffs in it."""
    texts, diffs = [], []
    for piece in parts(update, "content"):
        match text(piece, "type"):
            case "content":
                texts.append(text(part(piece, "content"), "text"))
            case "diff":
                diffs.append(changed(text(piece, "oldText"), text(piece, "newText")))
            case _:
                continue
    return "\n".join(filter(None, texts)), "\n".join(diffs)
