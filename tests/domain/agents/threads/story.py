"""What a worker's stream says, in few words."""

from collections.abc import Iterable, Mapping
from typing import Any

from atoll.domain.agents.conversation import AgentEvent, Step


def told(events: Iterable[AgentEvent]) -> list[str]:
    """Each event in a line: its method, what it is about, and a star where it carries the agent's
    own message."""
    return [_line(one, one.params) for one in events]


def events_of(step: Step) -> list[str]:
    """The events of a step."""
    return told(step.events)


def _line(event: AgentEvent, params: Mapping[str, Any]) -> str:
    item, turn = params.get("item", {}), params.get("turn", {})
    if event.live:
        return f"{event.method} {params['delta']}"
    words = [event.method, item.get("type"), item.get("status") or turn.get("status")]
    said = item.get("text") or item.get("command") or item.get("content")
    if isinstance(said, list):
        said = " ".join(one if isinstance(one, str) else str(one["text"]) for one in said)
    words += [said, "*" if event.native else ""]
    return " ".join(filter(None, words))
