"""Reports of an agent's turn by its hooks: the events Claude Code introduced, which others share.

Each message is the beginning of the JSON a hook command is given, and may be cut off. Anybody
inside the sandbox can write one, so only a few fields are read. The worst a forged message does is
to lock or free its own sandbox's terminal.
"""

import re
from dataclasses import dataclass

from atoll.domain.agent.card import Began, CardKind, CardState, Draft, Ended, Said, Worked, Yielded
from atoll.domain.agent.resumable import is_conversation

_EVENT = re.compile(r'"hook_event_name"\s*:\s*"([A-Za-z]{1,40})"')
_TRANSCRIPT = re.compile(r'"transcript_path"\s*:\s*"((?:[^"\\\x00-\x1f]|\\["\\/]){1,1024})"')
_TOOL = re.compile(r'"tool_name"\s*:\s*"([^"\\\x00-\x1f]{1,80})"')
_SESSION = re.compile(r'"session_id"\s*:\s*"([^"\\\x00-\x1f]{1,80})"')
_IDLE = re.compile(r'"notification_type"\s*:\s*"idle_prompt"')
_RESUMED = re.compile(r'"source"\s*:\s*"resume"')
_MESSAGE = re.compile(r'"message"\s*:\s*"((?:[^"\\\x00-\x1f]|\\["\\/n]){1,400})"')

ASKING_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""The tools whose whole work is to wait for the person."""

PROMPT_EVENTS = frozenset({"UserPromptSubmit", "BeforeAgent"})
"""The only events that begin a turn."""

WORKING_EVENTS = frozenset({
    "PreToolUse", "PostToolUse", "PreCompact", "SubagentStart",
    "BeforeTool", "AfterTool", "BeforeModel",
})  # fmt: skip
"""The events within a turn, or in work that continues in the background after one."""

ENDING_EVENTS = {
    "Stop": CardState.DONE, "AfterAgent": CardState.DONE, "SessionEnd": CardState.DONE,
    "StopFailure": CardState.FAILED,
}  # fmt: skip
"""The events that end a turn, and how it ended."""


@dataclass(frozen=True, slots=True)
class HookReport:
    """The content of one message.

    `transcript` is an absolute path inside. `conversation` names the conversation once something
    was said in it: before that there is none to resume.
    """

    event: str
    transcript: str | None
    said: tuple[Said, ...]
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
        transcript = _plain(path[1]) if path is not None and path[1].startswith("/") else None
        said = self._said(event[1], after)
        return HookReport(event[1], transcript, said, _conversation(event[1], before, after))

    def _said(self, event: str, rest: str) -> tuple[Said, ...]:
        tool = _TOOL.search(rest)
        if event == "PermissionRequest":
            return self._asks(f"The agent asks to use {tool[1] if tool else 'a tool'}")
        if event == "Notification" and _IDLE.search(rest):
            return (*self._answered(), Ended())
        if event == "Notification":
            message = _MESSAGE.search(rest)
            return self._asks(_plain(message[1]) if message else "The agent asks for you")
        if event == "PreToolUse" and tool is not None and tool[1] in ASKING_TOOLS:
            return self._asks("The agent asks you a question")
        if event in PROMPT_EVENTS:
            return (*self._answered(), Began())
        if event in WORKING_EVENTS:
            return (*self._answered(), Worked())
        if event in ENDING_EVENTS:
            return (*self._answered(), Ended(ENDING_EVENTS[event]))
        return (*self._answered(), Yielded()) if event == "SessionStart" else ()

    def _asks(self, title: str) -> tuple[Said, ...]:
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

    def _answered(self) -> tuple[Said, ...]:
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
    spoken = event in PROMPT_EVENTS | WORKING_EVENTS or (
        event == "SessionStart" and _RESUMED.search(after)
    )
    return named[1] if spoken else None


def _plain(text: str) -> str:
    """Undo JSON's short escapes."""
    return re.sub(r'\\(["\\/n])', lambda found: "\n" if found[1] == "n" else found[1], text)
