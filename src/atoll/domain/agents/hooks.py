"""Reports of an agent's turn by its hooks: the JSON of Claude Code, which the others took over.

The agents differ in the names of their events, which are data here. `write_hooks` makes the hooks
of a settings file, `Hooks` reads what they send.

Each message is the beginning of the JSON a hook command is given, and may be cut off. Anybody
inside the sandbox can write one, so only a few fields are read. The worst a forged message does is
to lock or free its own sandbox's terminal.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from atoll.domain.agents.card import (
    AgentReport,
    Began,
    CardKind,
    CardState,
    Draft,
    Ended,
    Value,
    Worked,
    Yielded,
)
from atoll.domain.agents.resumable import is_conversation

_EVENT = re.compile(r'"hook_event_name"\s*:\s*"([A-Za-z]{1,40})"')
_TRANSCRIPT = re.compile(r'"transcript_path"\s*:\s*"((?:[^"\\\x00-\x1f]|\\["\\/]){1,1024})"')
_TOOL = re.compile(r'"tool_name"\s*:\s*"([^"\\\x00-\x1f]{1,80})"')
_SESSION = re.compile(r'"session_id"\s*:\s*"([^"\\\x00-\x1f]{1,80})"')
_NOTIFICATION = re.compile(r'"notification_type"\s*:\s*"([A-Za-z_]{1,40})"')
_RESUMED = re.compile(r'"source"\s*:\s*"resume"')
_MESSAGE = re.compile(r'"message"\s*:\s*"((?:[^"\\\x00-\x1f]|\\["\\/n]){1,400})"')
_QUESTION = re.compile(r'"question"\s*:\s*"((?:[^"\\\x00-\x1f]|\\["\\/n]){1,400})"')

ASKING_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""The tools whose whole work is to wait for the person."""

QUIET_NOTIFICATIONS = frozenset({
    "auth_success", "agent_completed", "elicitation_response", "elicitation_complete",
})  # fmt: skip
"""Notifications that ask the person for nothing."""


class HookMeaning(StrEnum):
    """The meaning of an event. Only `BEGINS` begins a turn; `WORKS` is within one, or in work that
    continues in the background after one."""

    OPENS = "opens"
    BEGINS = "begins"
    WORKS = "works"
    ASKS = "asks"
    NOTIFIES = "notifies"
    ENDS = "ends"
    FAILS = "fails"
    STOPS = "stops"


MEANINGS: Final[Mapping[str, HookMeaning]] = MappingProxyType(
    {
        name: meaning
        for meaning, names in {
            HookMeaning.OPENS: "SessionStart",
            HookMeaning.BEGINS: "UserPromptSubmit BeforeAgent",
            HookMeaning.WORKS: "PreToolUse PostToolUse PostToolUseFailure PermissionDenied "
            "PreCompact SubagentStart ElicitationResult BeforeTool AfterTool BeforeModel",
            HookMeaning.ASKS: "PermissionRequest Elicitation",
            HookMeaning.NOTIFIES: "Notification",
            HookMeaning.ENDS: "Stop SessionEnd AfterAgent",
            HookMeaning.FAILS: "StopFailure",
            HookMeaning.STOPS: "Interrupt",
        }.items()
        for name in names.split()
    }
)
"""The events by name, of all agents. Others are passed over."""

_ENDINGS = MappingProxyType(
    {
        HookMeaning.ENDS: CardState.DONE,
        HookMeaning.FAILS: CardState.FAILED,
        HookMeaning.STOPS: CardState.DECLINED,
    }
)

HOOK_COMMAND: Final = (
    '[ ! -p "$ATOLL_EAR" ] || printf \'%s\\n\' "$(head -c 1500 | tr -d \'\\n\')" 1<>"$ATOLL_EAR"'
)
"""The command of an agent's hooks. It sends the beginning of its input as one line in one write (at
most PIPE_BUF, pipe(7)) to the socket beside the terminal. Elsewhere it does nothing."""

HOOK_SECONDS: Final = 5


def write_hooks(
    events: Iterable[str],
    *,
    timeout: int = HOOK_SECONDS,
    matched: bool = False,
    command: str = HOOK_COMMAND,
) -> dict[str, Value]:
    """Return the `hooks` of a settings file: our command for each of the events. `timeout` is in
    the agent's own unit. A `matched` agent needs a matcher, here of everything."""
    hook: dict[str, Value] = {"type": "command", "timeout": timeout, "command": command}
    matcher: dict[str, Value] = {"matcher": ""} if matched else {}
    return {event: [{**matcher, "hooks": [hook]}] for event in events}


@dataclass(frozen=True, slots=True)
class HookReport:
    """The content of one message.

    `transcript` is an absolute path inside. `conversation` names the conversation once something
    was said in it: before that there is none to resume.
    """

    event: str
    transcript: str | None
    said: tuple[AgentReport, ...]
    conversation: str | None = None


class Hooks:
    """Reader of one agent's hook messages, in the order they come."""

    def __init__(self) -> None:
        self._asked = 0
        self._asking = False

    def read(self, line: str) -> HookReport | None:
        """Return the meaning of a hook's message; None for an unknown one."""
        event = _EVENT.search(line)
        if event is None:
            return None
        before, after = line[: event.start()], line[event.end() :]
        path = _TRANSCRIPT.search(before)
        transcript = _unescape(path[1]) if path is not None and path[1].startswith("/") else None
        reports = self._read_event(event[1], after)
        return HookReport(event[1], transcript, reports, _conversation(event[1], before, after))

    def _read_event(self, event: str, rest: str) -> tuple[AgentReport, ...]:
        """Return the reports of a hook's event."""
        tool = _TOOL.search(rest)
        waits = event == "PreToolUse" and tool is not None and tool[1] in ASKING_TOOLS
        meaning = HookMeaning.ASKS if waits else MEANINGS.get(event)
        match meaning:
            case None:
                return ()
            case HookMeaning.ASKS:
                return self._asks(_title_of(event, tool, rest))
            case HookMeaning.NOTIFIES:
                return self._read_notification(rest)
            case HookMeaning.BEGINS:
                return (*self._close_question(), Began())
            case HookMeaning.WORKS:
                return (*self._close_question(), Worked())
            case HookMeaning.OPENS:
                return (*self._close_question(), Yielded())
            case HookMeaning.ENDS | HookMeaning.FAILS | HookMeaning.STOPS:  # pragma: no branch
                return (*self._close_question(), Ended(_ENDINGS[meaning]))

    def _read_notification(self, rest: str) -> tuple[AgentReport, ...]:
        kind, message = _NOTIFICATION.search(rest), _MESSAGE.search(rest)
        if kind is not None and kind[1] == "idle_prompt":
            return (*self._close_question(), Ended())
        if kind is not None and kind[1] in QUIET_NOTIFICATIONS:
            return ()
        return self._asks(_unescape(message[1]) if message else "The agent asks for you")

    def _asks(self, title: str) -> tuple[AgentReport, ...]:
        if not self._asking:
            self._asked, self._asking = self._asked + 1, True
        asking = Draft(
            id=f"asking:{self._asked}",
            kind=CardKind.STATUS,
            state=CardState.PENDING,
            title=title,
            text="Answer it in the terminal.",
        )
        return (asking, Yielded())

    def _close_question(self) -> tuple[AgentReport, ...]:
        """Close the card of the open question, if there is one."""
        if not self._asking:
            return ()
        self._asking = False
        return (
            Draft(id=f"asking:{self._asked}", kind=CardKind.STATUS, state=CardState.DONE, text=""),
        )


def _conversation(event: str, before: str, after: str) -> str | None:
    """Return the conversation's id. Like the transcript's path it precedes the event's name, and no
    text of a person or a program can stand there."""
    named = _SESSION.search(before)
    if named is None or not is_conversation(named[1]):
        return None
    meaning = MEANINGS.get(event)
    spoken = meaning in (HookMeaning.BEGINS, HookMeaning.WORKS) or (
        meaning is HookMeaning.OPENS and _RESUMED.search(after)
    )
    return named[1] if spoken else None


def _title_of(event: str, tool: re.Match[str] | None, rest: str) -> str:
    """Return the title of what is asked: the use of a tool, a question of the agent, or a form that
    a server shows."""
    if event == "PreToolUse":
        asked = _QUESTION.search(rest)
        return (
            f"The agent asks: {_unescape(asked[1])}" if asked else "The agent asks you a question"
        )
    if event == "PermissionRequest":
        return f"The agent asks to use {tool[1] if tool else 'a tool'}"
    message = _MESSAGE.search(rest)
    return _unescape(message[1]) if message else "A tool asks you a question"


def _unescape(text: str) -> str:
    """Undo JSON's short escapes."""
    return re.sub(r'\\(["\\/n])', lambda match: "\n" if match[1] == "n" else match[1], text)
