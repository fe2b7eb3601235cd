"""Codex's items as cards: the same things under three spellings.

The app-server writes them in camelCase, `exec --json` in snake_case, rollout files in PascalCase
with snake_case fields.
"""

import shlex
from collections.abc import Callable, Mapping

import msgspec

from atoll.domain.agents.card import CardKind, CardState, Draft, Value
from atoll.domain.agents.lenient_json import (
    Message,
    read_int,
    read_object,
    read_objects,
    read_text,
    replacement_diff,
    short,
)

_STATES = {
    "inprogress": CardState.RUNNING,
    "completed": CardState.DONE,
    "success": CardState.DONE,
    "failed": CardState.FAILED,
    "declined": CardState.DECLINED,
    "interrupted": CardState.DECLINED,
}
_MARKS = {"completed": "[x]", "inprogress": "[~]"}
_SHELLS = ("/bin/bash", "bash", "/bin/sh", "sh", "/bin/zsh", "zsh")
_SHELL_LINES = tuple(f"{shell} -" for shell in _SHELLS)
_LONGEST_SPLIT = 20_000
"""The characters of a line that is taken apart; a longer one is shown as it is."""


def item_card(item: Message, *, done: bool) -> Draft | None:
    """Return the card of an item, begun or done; None for an item that shows nothing."""
    kind = normalize_word(read_text(item, "type"))
    state = state_of(item, done=done)
    made = _CARDS.get(kind)
    if made is not None:
        return made(item, state)
    # An item of an unknown kind shows its text, under the kind's name.
    words = read_text(item, "text", "message", "review")
    return (
        Draft(read_text(item, "id"), CardKind.TEXT, state, title=kind, text=words)
        if words
        else None
    )


def command_card(item: Message, state: CardState) -> Draft:
    """Return the card of a command and its output."""
    command = command_text(item)
    code = read_int(item, "exitCode", "exit_code")
    return Draft(
        id=read_text(item, "id"),
        kind=CardKind.BASH,
        state=CardState.FAILED if code else state,
        title=short(command),
        text=read_text(item, "aggregatedOutput", "aggregated_output") or None,
        data={"command": command, **({} if code is None else {"exit_code": code})},
    )


def command_text(item: Message) -> str:
    """Return the command without the shell around it."""
    command = item.get("command")
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        if len(words) == 3 and words[0] in _SHELLS and words[1] in ("-lc", "-c"):
            return words[2]
        return " ".join(words)
    line = read_text(item, "command")
    return _script_of(line) or line


def _script_of(line: str) -> str:
    """Return the script of `bash -lc SCRIPT`, unquoted; empty for any other line."""
    if not line.startswith(_SHELL_LINES) or len(line) > _LONGEST_SPLIT:
        return ""
    try:
        words = shlex.split(line)
    except ValueError:
        return ""
    return words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else ""


def plan_text(item: Message) -> str:
    """Return a plan as a list of steps."""
    steps = read_objects(item, "plan", "items")
    if not steps:
        return read_text(item, "text")
    lines = []
    for step in steps:
        mark = _MARKS.get(normalize_word(read_text(step, "status")), "[ ]")
        if step.get("completed") is True:
            mark = "[x]"
        lines.append(f"{mark} {read_text(step, 'step', 'text')}")
    return "\n".join(lines)


def message_text(item: Message) -> str:
    """Return the text of a message."""
    words = read_text(item, "text")
    return words or "\n".join(
        filter(None, (read_text(piece, "text") for piece in read_objects(item, "content")))
    )


def state_of(item: Message, *, done: bool) -> CardState:
    """Return the state of an item: by its own status, else by whether it is over."""
    default = CardState.DONE if done else CardState.RUNNING
    return _STATES.get(normalize_word(read_text(item, "status")), default)


def normalize_word(word: str) -> str:
    """Return one spelling for `inProgress`, `in_progress` and `InProgress`."""
    return word.replace("_", "").lower()


def _person_card(item: Message, _state: CardState) -> Draft:
    data: dict[str, Value] = {"role": "person"}
    return Draft(
        read_text(item, "id"), CardKind.TEXT, CardState.DONE, text=message_text(item), data=data
    )


def _text_card(item: Message, state: CardState) -> Draft:
    return Draft(read_text(item, "id"), CardKind.TEXT, state, text=message_text(item))


def _thinking_card(item: Message, state: CardState) -> Draft | None:
    words = _join_texts(item, "summary") or _join_texts(item, "content") or read_text(item, "text")
    return Draft(read_text(item, "id"), CardKind.THINKING, state, text=words) if words else None


def _plan(item: Message, state: CardState) -> Draft:
    return Draft(read_text(item, "id"), CardKind.PLAN, state, title="Plan", text=plan_text(item))


def _search(item: Message, state: CardState) -> Draft:
    title = f"Web search: {short(read_text(item, 'query'))}"
    return Draft(read_text(item, "id"), CardKind.TOOL_CALL, state, title=title)


def _error_card(item: Message, _state: CardState) -> Draft:
    words = read_text(item, "message")
    return Draft(
        read_text(item, "id"), CardKind.STATUS, CardState.FAILED, title="Codex says", text=words
    )


def _files(item: Message, state: CardState) -> Draft:
    changes = _changes(item)
    paths: list[Value] = [path for path, _ in changes]
    title = changes[0][0] if len(changes) == 1 else f"{len(changes)} files"
    lines = "\n".join(f"{path}\n{diff}" if len(paths) > 1 else diff for path, diff in changes)
    data: dict[str, Value] = {"path": paths[0] if paths else "", "paths": paths}
    return Draft(read_text(item, "id"), CardKind.DIFF, state, title=title, text=lines, data=data)


def _changes(item: Message) -> list[tuple[str, str]]:
    """Return each path and its diff; added or removed files may come with their content only."""
    listed = read_objects(item, "changes")
    if listed:
        return [(read_text(change, "path"), read_text(change, "diff")) for change in listed]
    changes = []
    for path, change in read_object(item, "changes").items():
        if isinstance(change, dict):
            content = read_text(change, "content")
            made = read_text(change, "type") == "add"
            lines = replacement_diff("", content) if made else replacement_diff(content, "")
            changes.append((path, read_text(change, "unified_diff") or lines))
    return changes


def _tool(item: Message, state: CardState) -> Draft:
    name = ".".join(filter(None, (read_text(item, "server"), read_text(item, "tool", "name"))))
    result, error = read_object(item, "result"), read_object(item, "error")
    words = read_text(error, "message") or "\n".join(
        read_text(piece, "text") for piece in read_objects(result, "content")
    )
    return Draft(
        id=read_text(item, "id"),
        kind=CardKind.TOOL_CALL,
        state=CardState.FAILED if error else state,
        title=name,
        text=words or None,
        data={"tool": name, "input": msgspec.json.encode(item.get("arguments")).decode()},
    )


def _join_texts(item: Message, name: str) -> str:
    """Return a list of texts as lines; an empty text when it is no list."""
    value = item.get(name)
    if not isinstance(value, list):
        return ""
    return "\n".join(line for line in value if isinstance(line, str))


_CARDS: Mapping[str, Callable[[Message, CardState], Draft | None]] = {
    "usermessage": _person_card,
    "agentmessage": _text_card,
    "reasoning": _thinking_card,
    "commandexecution": command_card,
    "filechange": _files,
    "plan": _plan,
    "todolist": _plan,
    "mcptoolcall": _tool,
    "dynamictoolcall": _tool,
    "collabagenttoolcall": _tool,
    "collabtoolcall": _tool,
    "websearch": _search,
    "error": _error_card,
}
