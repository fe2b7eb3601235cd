"""Claude Code's tools as cards: commands, edits, files, plans and questions; the rest by name."""

from collections.abc import Mapping

import msgspec

from atoll.domain.agents.card import QUESTION_TITLE, CardKind, CardState, Draft, Option
from atoll.domain.agents.lenient_json import (
    Message,
    read_object,
    read_objects,
    read_text,
    replacement_diff,
    short,
)

_EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_PLANS = frozenset({"TodoWrite", "ExitPlanMode"})
_MARKS = {"completed": "[x]", "in_progress": "[~]"}


def tool_card(block: Message) -> Draft:
    """Return the card of a `tool_use` block, running."""
    name, card_id = read_text(block, "name"), read_text(block, "id")
    given = read_object(block, "input")
    if name in ("Bash", "BashOutput"):
        return Draft(
            id=card_id,
            kind=CardKind.BASH,
            state=CardState.RUNNING,
            title=read_text(given, "description") or short(read_text(given, "command")),
            data={"command": read_text(given, "command", "bash_id")},
        )
    if name in _EDITS:
        path = read_text(given, "file_path", "notebook_path")
        lines, data = _edit_diff(name, given), {"path": path}
        return Draft(
            card_id, CardKind.DIFF, CardState.RUNNING, title=path, text=lines, data={**data}
        )
    if name == "Read":
        path = read_text(given, "file_path")
        return Draft(card_id, CardKind.FILE, CardState.RUNNING, title=path, data={"path": path})
    if name in _PLANS:
        title = "The agent's plan" if name == "ExitPlanMode" else "To do"
        return Draft(card_id, CardKind.PLAN, CardState.RUNNING, title=title, text=_plan(given))
    if name == "AskUserQuestion":
        return Draft(
            card_id,
            CardKind.QUESTION,
            CardState.PENDING,
            title=QUESTION_TITLE,
            text=questions(given),
            options=question_options(given),
            data={"answerable": False},
        )
    return Draft(
        id=card_id,
        kind=CardKind.TOOL_CALL,
        state=CardState.RUNNING,
        title=name,
        data={"tool": name, "input": msgspec.json.encode(given).decode()},
    )


def tool_result(block: Message, more: Message, kinds: Mapping[str, CardKind]) -> Draft:
    """Return what a `tool_result` block changes on the card of its tool."""
    card_id = read_text(block, "tool_use_id")
    kind = kinds.get(card_id, CardKind.TOOL_CALL)
    failed = block.get("is_error") is True
    state = CardState.FAILED if failed else CardState.DONE
    words = _result_text(block)
    if kind in (CardKind.BASH, CardKind.TOOL_CALL):
        broken = more.get("interrupted") is True
        return Draft(card_id, kind, CardState.DECLINED if broken else state, text=words)
    if failed:
        return Draft(card_id, kind, state, data={"error": short(words, 2000)})
    return Draft(card_id, kind, state)


def questions(given: Message) -> str:
    """Return the questions of AskUserQuestion."""
    asked = [read_text(question, "question") for question in read_objects(given, "questions")]
    return "\n".join(filter(None, asked))


def question_options(given: Message) -> tuple[Option, ...]:
    """Return the options of its first question; their labels are the answers."""
    first = next(iter(read_objects(given, "questions")), {})
    labels = (read_text(option, "label") for option in read_objects(first, "options"))
    return tuple(Option(label, label) for label in labels if label)


def _result_text(block: Message) -> str:
    content = block.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(read_text(piece, "text") for piece in read_objects(block, "content"))


def _edit_diff(name: str, given: Message) -> str:
    """Return the change that an editing tool makes, as a diff."""
    if name == "Write":
        return replacement_diff("", read_text(given, "content"))
    if name == "MultiEdit":
        edits = read_objects(given, "edits")
        return "\n".join(
            replacement_diff(read_text(e, "old_string"), read_text(e, "new_string")) for e in edits
        )
    return replacement_diff(
        read_text(given, "old_string"), read_text(given, "new_string", "new_source")
    )


def _plan(given: Message) -> str:
    if read_text(given, "plan"):
        return read_text(given, "plan")
    todos = read_objects(given, "todos")
    return "\n".join(
        f"{_MARKS.get(read_text(todo, 'status'), '[ ]')} {read_text(todo, 'content')}"
        for todo in todos
    )
