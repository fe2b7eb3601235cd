"""Claude Code's own messages as cards: `stream-json` output and transcript files, one to one.

Both hold the same messages. A stream also carries pieces of a block while it is written, and
requests permissions. Tools are read by `claude_code.tools`.
"""

from atoll.domain.agents.card import (
    QUESTION_TITLE,
    AgentReport,
    Began,
    CardKind,
    CardState,
    Draft,
    Interrupted,
    Option,
    Yielded,
)
from atoll.domain.agents.claude_code.tools import (
    question_options,
    questions,
    tool_card,
    tool_result,
)
from atoll.domain.agents.lenient_json import (
    Message,
    read_int,
    read_object,
    read_objects,
    read_text,
    remember,
    short,
)

ALLOW, DENY = "allow", "deny"
INTERRUPTED = "[Request interrupted"
_BLOCKS = {"text": CardKind.TEXT, "thinking": CardKind.THINKING}
_DELTAS = {"text_delta": "text", "thinking_delta": "thinking"}


class ClaudeCards:
    """Translator of one conversation's messages."""

    def __init__(self) -> None:
        self._messages = 0
        self._blocks = 0
        self._turn = ""
        self._turns = 0
        self._steers = 0
        self._kinds: dict[str, CardKind] = {}
        self._asked: dict[str, str] = {}

    def take(self, message: Message) -> list[AgentReport]:
        """Translate one message."""
        match read_text(message, "type"):
            case "assistant":
                return self._assistant(message)
            case "user":
                return self._user(message)
            case "stream_event":
                return self._append_piece(read_object(message, "event"))
            case "result":
                return self._read_result(message)
            case "system":
                return self._system(message)
            case "control_request":
                return self._request(message)
            case _:
                return []

    def asked(self, words: str) -> list[AgentReport]:
        """Add the card of a person's prompt; the stream itself does not repeat it."""
        self._turns += 1
        return self._begin_turn(f"asked:{self._turns}", words)

    def steered(self, words: str) -> list[AgentReport]:
        """Add the card of what a person says during a turn."""
        self._steers += 1
        return [_of_person(f"user:steer:{self._steers}", words)]

    def answered(self, request: str, *, accepted: bool) -> list[AgentReport]:
        """Record a person's answer to a pending card."""
        kind = (
            CardKind.APPROVAL
            if self._asked.pop(request, "") != "AskUserQuestion"
            else CardKind.QUESTION
        )
        state = CardState.DONE if accepted else CardState.DECLINED
        return [Draft(id=f"approval:{request}", kind=kind, state=state), Began()]

    def _begin_turn(self, name: str, words: str) -> list[AgentReport]:
        self._turn = f"turn:{name}"
        return [
            Draft(id=self._turn, kind=CardKind.TURN, state=CardState.RUNNING, title=short(words)),
            _of_person(f"user:{name}", words),
            Began(),
        ]

    def _end_turn(self, state: CardState, **data: int | None) -> list[AgentReport]:
        known = {name: value for name, value in data.items() if value is not None}
        turn, self._turn = self._turn, ""
        ended: list[AgentReport] = [Yielded()]
        if turn:
            ended.insert(0, Draft(id=turn, kind=CardKind.TURN, state=state, data={**known}))
        return ended

    def _assistant(self, message: Message) -> list[AgentReport]:
        inner, reports = read_object(message, "message"), list[AgentReport]()
        if _is_filler(message, inner):
            return []
        streamed = self._messages > 0 and not read_text(message, "parent_tool_use_id")
        for at, block in enumerate(read_objects(inner, "content")):
            if streamed:
                card_id = f"m{self._messages}:{self._blocks}"
                self._blocks += 1
            else:
                card_id = f"{read_text(message, 'uuid') or read_text(inner, 'id')}:{at}"
            reports += self._block(block, card_id)
        if message.get("isApiErrorMessage") is True and "parentUuid" in message:
            # A transcript has no result, and no hook reports such an end.
            return [*_as_failures(reports), *self._end_turn(CardState.FAILED)]
        return reports

    def _block(self, block: Message, card_id: str) -> list[AgentReport]:
        match read_text(block, "type"):
            case "tool_use" | "server_tool_use" | "mcp_tool_use":
                draft = tool_card(block)
                remember(self._kinds, draft.id, draft.kind)
                return [draft]
            case "thinking":
                words, kind = read_text(block, "thinking"), CardKind.THINKING
            case _:
                words, kind = read_text(block, "text"), CardKind.TEXT
        return [Draft(id=card_id, kind=kind, state=CardState.DONE, text=words)] if words else []

    def _user(self, message: Message) -> list[AgentReport]:
        content = read_object(message, "message").get("content")
        name = read_text(message, "uuid")
        if isinstance(content, str):
            return self._said_by_person(message, name, content)
        reports = list[AgentReport]()
        for block in read_objects(read_object(message, "message"), "content"):
            if read_text(block, "type") == "tool_result":
                reports.append(
                    tool_result(block, read_object(message, "toolUseResult"), self._kinds)
                )
            elif read_text(block, "type") == "text":
                reports += self._said_by_person(message, name, read_text(block, "text"))
        return reports

    def _said_by_person(self, message: Message, name: str, words: str) -> list[AgentReport]:
        if words.startswith(INTERRUPTED):
            return [*self._end_turn(CardState.DECLINED), Interrupted()]
        # Text that a program put there (reminders, outputs of slash commands) is not a person's.
        if message.get("isMeta") is True or message.get("isSidechain") is True:
            return []
        if read_text(message, "parent_tool_use_id") or words.startswith(
            ("<local-command", "<command-")
        ):
            return []
        return self._begin_turn(name or f"{self._turns}", words)

    def _append_piece(self, event: Message) -> list[AgentReport]:
        """Append a piece of a block that is being written."""
        at = read_int(event, "index") or 0
        card_id = f"m{self._messages}:{at}"
        match read_text(event, "type"):
            case "message_start":
                self._messages, self._blocks = self._messages + 1, 0
            case "content_block_start":
                kind = _BLOCKS.get(read_text(read_object(event, "content_block"), "type"))
                running = CardState.RUNNING
                return (
                    [] if kind is None else [Draft(id=card_id, kind=kind, state=running, text="")]
                )
            case "content_block_delta":
                delta = read_object(event, "delta")
                field = _DELTAS.get(read_text(delta, "type"))
                if field is None:
                    return []
                kind, words = _BLOCKS[field], read_text(delta, field)
                return [Draft(id=card_id, kind=kind, text=words, append=True)]
            case _:
                return []
        return []

    def _read_result(self, message: Message) -> list[AgentReport]:
        """Return the end of a turn, with a card for its failure."""
        failed = message.get("is_error") is True
        broken = read_text(message, "subtype") == "error_during_execution"
        reports = list[AgentReport]()
        if failed and not broken:
            words = read_text(message, "result") or read_text(message, "subtype")
            reports.append(
                Draft(
                    id=f"end:{self._turn}", kind=CardKind.STATUS, state=CardState.FAILED, text=words
                )
            )
        state = CardState.FAILED if failed else CardState.DONE
        return [*reports, *self._end_turn(state, milliseconds=read_int(message, "duration_ms"))]

    def _system(self, message: Message) -> list[AgentReport]:
        match read_text(message, "subtype"):
            case "init":
                title = f"Claude Code {read_text(message, 'claude_code_version')}".strip()
                model = read_text(message, "model")
                return [_status("init", title, CardState.DONE, model)]
            case "turn_duration":
                return self._end_turn(CardState.DONE, milliseconds=read_int(message, "durationMs"))
            case "api_error" | "error":
                name = read_text(message, "uuid")
                words = read_text(message, "content") or read_text(
                    read_object(message, "error"), "message"
                )
                return [
                    _status(
                        f"error:{name}", "The model could not be asked", CardState.FAILED, words
                    )
                ]
            case "compact_boundary":
                title = "The conversation was made shorter"
                return [_status(f"compact:{read_text(message, 'uuid')}", title, CardState.DONE)]
            case _:
                return []

    def _request(self, message: Message) -> list[AgentReport]:
        """Add the card of a permission or question that waits for its answer."""
        name, request = read_text(message, "request_id"), read_object(message, "request")
        if read_text(request, "subtype") != "can_use_tool":
            return []
        tool, given = read_text(request, "tool_name"), read_object(request, "input")
        remember(self._asked, name, tool)
        if tool == "AskUserQuestion":
            card = Draft(
                id=f"approval:{name}",
                kind=CardKind.QUESTION,
                state=CardState.PENDING,
                title=QUESTION_TITLE,
                text=questions(given),
                options=question_options(given),
                data={"answerable": True},
            )
        else:
            card = Draft(
                id=f"approval:{name}",
                kind=CardKind.APPROVAL,
                state=CardState.PENDING,
                title=f"Allow {read_text(request, 'display_name') or tool}?",
                text=read_text(given, "command", "file_path", "plan", "url")
                or read_text(request, "description"),
                options=(Option(ALLOW, "Allow", "allow"), Option(DENY, "Deny", "deny")),
                data={"answerable": True, "tool": tool, "for": read_text(request, "tool_use_id")},
            )
        return [card, Yielded()]


def message_name(message: Message, turn: str, written: str = "") -> str:
    """Return the name of a message of this turn: the model's own, by which its pieces are known,
    else the line's. A model's names are not trusted to differ from turn to turn. `written` is the
    message that pieces are of."""
    if read_text(message, "type") == "stream_event":
        return f"{turn}:{written}" if written else ""
    own = read_text(read_object(message, "message"), "id")
    return f"{turn}:{own}" if own else read_text(message, "uuid")


def _of_person(card_id: str, words: str) -> Draft:
    return Draft(card_id, CardKind.TEXT, CardState.DONE, text=words, data={"role": "person"})


def _as_failures(reports: list[AgentReport]) -> list[AgentReport]:
    return [
        _status(report.id, "The model could not be asked", CardState.FAILED, report.text or "")
        for report in reports
        if isinstance(report, Draft)
    ]


def _status(card_id: str, title: str, state: CardState, words: str = "") -> Draft:
    return Draft(id=card_id, kind=CardKind.STATUS, state=state, title=title, text=words)


def _is_filler(message: Message, inner: Message) -> bool:
    """Report whether Claude itself wrote a line of a transcript in its model's place, as after an
    interrupt; nobody was shown it. A failed request is one, too, and is shown."""
    written = "parentUuid" in message and read_text(inner, "model") == "<synthetic>"
    return written and message.get("isApiErrorMessage") is not True


TRANSCRIPTS = {"claude": ClaudeCards}
