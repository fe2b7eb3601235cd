"""Items of a thread, made of the cards that show them: in the shapes of Codex's app-server."""

from dataclasses import dataclass

import msgspec

from atoll.domain.agents.card import CardKind, CardState, Draft, Value
from atoll.wire.http.unreadable import UNREADABLE

MAX_PIECES = 1024 * 1024
"""The characters kept of a text that comes in pieces."""

TEXTS = frozenset({CardKind.TEXT, CardKind.THINKING})
FINAL = frozenset({CardState.DONE, CardState.FAILED, CardState.DECLINED})
_STATES = {
    CardState.PENDING: "inProgress",
    CardState.RUNNING: "inProgress",
    CardState.DONE: "completed",
    CardState.FAILED: "failed",
    CardState.DECLINED: "declined",
}


@dataclass(slots=True)
class OpenItem:
    """An item that is not completed. `loose`: its pieces are complete once something else comes."""

    draft: Draft
    loose: bool = False
    cut: bool = False

    def take(self, draft: Draft) -> None:
        """Merge what changed."""
        old = self.draft
        words = old.text if draft.text is None else draft.text
        if draft.append:
            words = (old.text or "") + (draft.text or "")
        if words is not None and draft.append and len(words) > MAX_PIECES:
            words, self.cut = words[:MAX_PIECES], True
        self.draft = Draft(
            old.id,
            old.kind,
            draft.state or old.state,
            title=old.title if draft.title is None else draft.title,
            text=words,
            data={**(old.data or {}), **(draft.data or {})},
        )


def item_of(item: OpenItem, name: str) -> dict[str, Value]:
    """Return an item under a name."""
    draft = item.draft
    return {"type": _TYPES.get(draft.kind, "dynamicToolCall"), "id": name, **_rest(item)}


def is_prompt(draft: Draft) -> bool:
    """Report whether a card shows what a person said."""
    return (draft.data or {}).get("role") == "person"


_TYPES = {
    CardKind.TEXT: "agentMessage",
    CardKind.THINKING: "reasoning",
    CardKind.BASH: "commandExecution",
    CardKind.DIFF: "fileChange",
    CardKind.PLAN: "plan",
}


def prompt_item(draft: Draft, name: str) -> dict[str, Value]:
    """Return the item of what a person said."""
    content: list[Value] = [{"type": "text", "text": draft.text or ""}]
    return {"type": "userMessage", "id": name, "content": content}


def _rest(item: OpenItem) -> dict[str, Value]:
    draft = item.draft
    words, data = draft.text or "", draft.data or {}
    status = _STATES[draft.state or CardState.RUNNING]
    cut: dict[str, Value] = {"cut": True} if item.cut else {}
    match draft.kind:
        case CardKind.TEXT | CardKind.PLAN:
            return {"text": words, **cut}
        case CardKind.THINKING:
            return {"summary": [], "content": [words], **cut}
        case CardKind.BASH:
            return {
                "command": data.get("command") or draft.title or "",
                "status": status,
                "aggregatedOutput": words or None,
                "exitCode": data.get("exit_code"),
            }
        case CardKind.DIFF:
            change: Value = {"path": data.get("path") or draft.title or "", "diff": words}
            return {"changes": [change], "status": status}
        case _:
            return {
                "tool": data.get("tool") or draft.title or draft.kind.value,
                "arguments": _arguments(data),
                "status": status,
                "contentItems": [{"type": "inputText", "text": words}] if words else [],
            }


def _arguments(data: dict[str, Value]) -> Value:
    given = data.get("input")
    if not isinstance(given, str):
        return {name: data[name] for name in ("path",) if name in data}
    try:
        arguments: Value = msgspec.json.decode(given)
    except UNREADABLE:
        return given
    return arguments
