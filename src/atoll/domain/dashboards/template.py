"""Templates of whole dashboards: the items that a new one begins with. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from atoll.domain.dashboards.item import Fields, RichText
from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.ids import PrincipalId
from atoll.wire.words.dashboards import BLANK

_BOLD: Final[Mapping[str, Json]] = {"bold": True}
_Runs = tuple[tuple[str, Mapping[str, Json]], ...]


def _note(place: tuple[int, int, int, int], colour: str, runs: _Runs) -> Fields:
    x, y, w, h = place
    text = RichText(runs)
    return {"kind": "note", "x": x, "y": y, "w": w, "h": h, "z": 1, "colour": colour,
            "text": text}  # fmt: skip


def _todo(place: tuple[int, int, int, int], text: str) -> Fields:
    x, y, w, h = place
    words = RichText(((text, {}),))
    return {"kind": "todo", "x": x, "y": y, "w": w, "h": h, "z": 1, "done": False,
            "text": words}  # fmt: skip


def _frame(place: tuple[int, int, int, int], title: str) -> Fields:
    x, y, w, h = place
    return {"kind": "frame", "x": x, "y": y, "w": w, "h": h, "z": 0, "title": title,
            "colour": "grey"}  # fmt: skip


TEMPLATES: Final[Mapping[str, Sequence[Fields]]] = {
    BLANK: (),
    "agent-and-notes": (
        _note(
            (0, 0, 320, 220),
            "yellow",
            (
                ("What we want\n", _BOLD),
                ("Write it here, then hand a todo to an agent.", {}),
            ),
        ),
        _todo((0, 244, 320, 136), "Describe the first task"),
        _todo((0, 396, 320, 136), "Look at the agent's diff"),
        {"kind": "events", "x": 0, "y": 556, "w": 320, "h": 240, "z": 1},
    ),
    "review": (
        _frame((0, 0, 1120, 640), "Review"),
        _note(
            (24, 56, 320, 260),
            "blue",
            (
                ("Checklist\n", _BOLD),
                ("Tests pass\nThe change is as small as it can be\nThe docs say so", {}),
            ),
        ),
        {"kind": "approvals", "x": 24, "y": 340, "w": 320, "h": 276, "z": 1},
        _note((368, 56, 320, 260), "green", (("What is good\n", _BOLD),)),
        _note((712, 56, 320, 260), "pink", (("What must change\n", _BOLD),)),
    ),
}
"""The bundled templates, by name."""


def items_of(name: str, ids: Sequence[str], by: PrincipalId, now: datetime) -> dict[str, Fields]:
    """Return the items of a template under these ids, made by a person now. Raises `Invalid` for
    an unknown template."""
    found = TEMPLATES.get(name)
    if found is None:
        raise Invalid(f"there is no template {name[:40]!r}: use one of {', '.join(TEMPLATES)}",
                      field="template")  # fmt: skip
    made = {"by": by, "at": now.isoformat()}
    return {one: {**fields, **made} for one, fields in zip(ids, found, strict=False)}


def copy_items(items: Mapping[str, Fields], by: PrincipalId, now: datetime) -> dict[str, Fields]:
    """Return the items of a copy: without the terminals and sandboxes of the original, which are
    not the copy's own."""
    own = ("sandbox_id", "terminal_id", "task", "proposed_done")
    made = {"by": by, "at": now.isoformat()}
    return {
        one: {**{name: value for name, value in fields.items() if name not in own}, **made}
        for one, fields in items.items()
    }
