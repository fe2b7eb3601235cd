"""The Agent Client Protocol's updates as cards, one to one (opencode, Gemini CLI, Qwen Code).

Source: agentclientprotocol.com, protocol version 1. An instance translates one session.
"""

import msgspec

from atoll.domain.agents.acp.forms import read_form, read_questions
from atoll.domain.agents.card import (
    QUESTION_TITLE,
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
    name_of,
    read_object,
    read_objects,
    read_text,
    remember,
    replacement_diff,
    short,
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
        method, params = read_text(message, "method"), read_object(message, "params")
        if method == PERMISSION and read_questions(params) is None:
            return self._permission(name_of(message, "id"), params)
        if method in (PERMISSION, FORM):
            return self._question(name_of(message, "id"), params)
        return self._update(read_object(params, "update")) if method == "session/update" else []

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
        name = read_text(update, "sessionUpdate")
        kind = _CHUNKS.get(name)
        if kind is not None:
            return self._append_piece(update, name, kind)
        self._chunk = ""
        match name:
            case "tool_call" | "tool_call_update":
                return [self._tool(update)]
            case "plan":
                entries = read_objects(update, "entries")
                lines = [
                    f"{_MARKS.get(read_text(entry, 'status'), '[ ]')} {read_text(entry, 'content')}"
                    for entry in entries
                ]
                over = bool(entries) and all(read_text(e, "status") == "completed" for e in entries)
                state = CardState.DONE if over else CardState.RUNNING
                card_id = f"plan:{self._turns}"
                return [Draft(card_id, CardKind.PLAN, state, title="Plan", text="\n".join(lines))]
            case _:
                return []

    def _append_piece(self, update: Message, name: str, kind: CardKind) -> list[AgentReport]:
        """Append a piece of a message. Without an id, consecutive pieces are one message."""
        words = read_text(read_object(update, "content"), "text")
        if not words:
            return []
        named = read_text(update, "messageId")
        if not self._chunk.startswith(f"{name}:{named}:"):
            self._chunks += 1
            self._chunk = f"{name}:{named}:{self._chunks}"
        card_id = f"{named or 'said'}:{self._chunks}"
        role: dict[str, Value] | None = {"role": "person"} if name.startswith("user") else None
        return [Draft(card_id, kind, CardState.DONE, text=words, data=role, append=True)]

    def _tool(self, update: Message) -> Draft:
        card_id = read_text(update, "toolCallId")
        kind = self._tool_kind(card_id, read_text(update, "kind"))
        given, title = read_object(update, "rawInput"), read_text(update, "title")
        data: dict[str, Value] = {}
        command, path = read_text(given, "command"), _path(update, given)
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
        state = _STATES.get(read_text(update, "status"))
        return Draft(card_id, kind, state, title=title or None, text=words or None, data=data)

    def _tool_kind(self, card_id: str, word: str) -> CardKind:
        """Return a tool's kind; an update may omit it, and never changes it."""
        known = self._kinds.get(card_id)
        if known is None:
            known = _KINDS.get(word, CardKind.TOOL_CALL)
            remember(self._kinds, card_id, known)
        return known

    def _permission(self, request: str, params: Message) -> list[AgentReport]:
        self._chunk = ""
        call = read_object(params, "toolCall")
        tool, given = self._announce_tool(call), read_object(call, "rawInput")
        words = read_text(given, "command") or _path(call, given) or _content(call)[1]
        remember(self._pending, request, CardKind.APPROVAL)
        options = read_objects(params, "options")
        lasting: list[Value] = [
            read_text(option, "optionId")
            for option in options
            if read_text(option, "kind").endswith("_always")
        ]
        data: dict[str, Value] = {"answerable": True, "for": read_text(call, "toolCallId")}
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
        about = read_text(params, "toolCallId") or read_text(
            read_object(params, "toolCall"), "toolCallId"
        )
        card = Draft(
            id=f"approval:{request}",
            kind=CardKind.QUESTION,
            state=CardState.PENDING,
            title=QUESTION_TITLE,
            text=form.card_text,
            options=form.options,
            data={"answerable": True, "for": about},
        )
        return [card, Yielded()]

    def _announce_tool(self, call: Message) -> list[AgentReport]:
        """Return the card of a tool that no update has named so far: some agents ask first. What a
        permission says beside a diff is no output of the tool."""
        name = read_text(call, "toolCallId")
        if not name or name in self._kinds:
            return []
        pieces = read_objects(call, "content")
        diffs: list[Value] = [{**piece} for piece in pieces if read_text(piece, "type") == "diff"]
        return [self._tool({**call, "content": diffs, "status": "pending"})]


def _subject(call: Message, words: str) -> str:
    """Return the title of a call. opencode repeats the command or path, which follows anyway."""
    title = read_text(call, "title")
    if title != words:
        return title or "this"
    command = read_text(read_object(call, "rawInput"), "command")
    return ("this command" if command else "this file") if words else "this"


def _option(option: Message) -> Option:
    kind = read_text(option, "kind")
    effect = "allow" if kind.startswith("allow") else "deny"
    return Option(read_text(option, "optionId"), read_text(option, "name"), effect)


def _path(update: Message, given: Message) -> str:
    first = next(iter(read_objects(update, "locations")), {})
    return read_text(first, "path") or read_text(given, "filePath", "file_path", "path")


def _content(update: Message) -> tuple[str, str]:
    """Return the text of a tool call, and the diffs in it."""
    texts, diffs = [], []
    for piece in read_objects(update, "content"):
        match read_text(piece, "type"):
            case "content":
                texts.append(read_text(read_object(piece, "content"), "text"))
            case "diff":
                diffs.append(
                    replacement_diff(read_text(piece, "oldText"), read_text(piece, "newText"))
                )
            case _:
                continue
    return "\n".join(filter(None, texts)), "\n".join(diffs)
