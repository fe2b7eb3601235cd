"""What an agent's hooks tell of its turn: the events Claude Code began with, which others share.

Each message is the beginning of the JSON a hook command is given; it may be cut off, and comes
from inside the wall, where anybody can write one. So only a few fields are looked at, and the
worst a forged one does is to lock or free its own sandbox's terminal.
"""

import re
from dataclasses import dataclass

from atoll.domain.agent.card import Began, Draft, Ended, Kind, Said, State, Worked, Yielded
from atoll.domain.agent.resumable import is_conversation

_EVENT = re.compile(r'"hook_event_name"\s*:\s*"([A-Za-z]{1,40})"')
_TRANSCRIPT = re.compile(r'"transcript_path"\s*:\s*"((?:[^"\\\x00-\x1f]|\\["\\/]){1,1024})"')
_TOOL = re.compile(r'"tool_name"\s*:\s*"([^"\\\x00-\x1f]{1,80})"')
_SESSION = re.compile(r'"session_id"\s*:\s*"([^"\\\x00-\x1f]{1,80})"')
_IDLE = re.compile(r'"notification_type"\s*:\s*"idle_prompt"')
_RESUMED = re.compile(r'"source"\s*:\s*"resume"')
_MESSAGE = re.compile(r'"message"\s*:\s*"((?:[^"\\\x00-\x1f]|\\["\\/n]){1,400})"')

ASKING_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Tools whose whole work is to wait for the person."""

PROMPT_EVENTS = frozenset({"UserPromptSubmit", "BeforeAgent"})
"""A turn begins with one of these and with nothing else."""

WORKING_EVENTS = frozenset({
    "PreToolUse", "PostToolUse", "PreCompact", "SubagentStart",
    "BeforeTool", "AfterTool", "BeforeModel",
})  # fmt: skip
"""These belong to a turn, or to work that goes on in the background after one."""

ENDING_EVENTS = {
    "Stop": State.DONE, "AfterAgent": State.DONE, "SessionEnd": State.DONE,
    "StopFailure": State.FAILED,
}  # fmt: skip
"""After these its turn is over, and how."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What one message tells. `transcript` is an absolute path inside; `conversation` names
    the conversation, once something was said in it: before that there is none to go on with."""

    event: str
    transcript: str | None
    said: tuple[Said, ...]
    conversation: str | None = None


class Hooks:
    """The hooks of one agent, in the order they come."""

    def __init__(self) -> None:
        self._asked = 0
        self._asking = False

    def read(self, line: str) -> Heard | None:
        """What a hook's message means; None for one that is none."""
        event = _EVENT.search(line)
        if event is None:
            return None
        before, after = line[: event.start()], line[event.end() :]
        path = _TRANSCRIPT.search(before)
        transcript = _plain(path[1]) if path is not None and path[1].startswith("/") else None
        said = self._said(event[1], after)
        return Heard(event[1], transcript, said, _conversation(event[1], before, after))

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
            return (Yielded(),)
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
            kind=Kind.STATUS,
            state=State.PENDING,
            title=title,
            text="Answer it in the terminal.",
        )
        return (asking, Yielded())

    def _answered(self) -> tuple[Said, ...]:
        if not self._asking:
            return ()
        self._asking = False
        return (Draft(id=f"asking:{self._asked}", kind=Kind.STATUS, state=State.DONE, text=""),)


def _conversation(event: str, before: str, after: str) -> str | None:
    """The conversation's id. Like the transcript's path it stands before the event's name, where
    nothing a person or a program has said can stand."""
    named = _SESSION.search(before)
    if named is None or not is_conversation(named[1]):
        return None
    spoken = event in PROMPT_EVENTS | WORKING_EVENTS or (
        event == "SessionStart" and _RESUMED.search(after)
    )
    return named[1] if spoken else None


def _plain(text: str) -> str:
    """JSON's short escapes undone."""
    return re.sub(r'\\(["\\/n])', lambda found: "\n" if found[1] == "n" else found[1], text)
