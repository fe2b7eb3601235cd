"""Colours and styles of a terminal (SGR, ECMA-48 §8.3.117 and xterm's ctlseqs).

Keeps only the present styles, so that a late viewer can be given the same pen. It paints nothing.
"""

from functools import lru_cache

Pen = tuple[tuple[str, str], ...]
"""The pen: sorted pairs of slot and the parameters that switch it on."""

PLAIN: Pen = ()

_ON = {
    1: "bold",
    2: "dim",
    3: "italic",
    4: "underline",
    5: "blink",
    6: "blink",
    7: "inverse",
    8: "hidden",
    9: "strike",
    21: "underline",
    53: "overline",
}
_OFF = {
    22: ("bold", "dim"),
    23: ("italic",),
    24: ("underline",),
    25: ("blink",),
    27: ("inverse",),
    28: ("hidden",),
    29: ("strike",),
    39: ("fg",),
    49: ("bg",),
    55: ("overline",),
    59: ("underline-colour",),
}
_EXTENDED = {38: "fg", 48: "bg", 58: "underline-colour"}


@lru_cache(maxsize=1024)
def apply(pen: Pen, params: bytes) -> Pen:
    """Return the pen after `CSI params m`; unknown numbers change nothing."""
    fresh, changes = _effect(params)
    slots = {} if fresh else dict(pen)
    for slot, value in changes:
        if value:
            slots[slot] = value
        else:
            slots.pop(slot, None)
    return tuple(sorted(slots.items()))


def spell(pen: Pen) -> bytes:
    """Return the sequence that gives a plain pen these styles; empty for a plain one."""
    if not pen:
        return b""
    return b"\x1b[" + ";".join(value for _, value in pen).encode() + b"m"


def _effect(params: bytes) -> tuple[bool, tuple[tuple[str, str], ...]]:
    """Return the effect of `params`: whether they first reset, and (slot, value) with "" for
    off."""
    fresh = False
    changes: list[tuple[str, str]] = []
    fields = params.decode("ascii", "replace").split(";")
    while fields:
        field = fields.pop(0)
        number = _parse_number(field)
        if number == 0:
            fresh = True
            changes.clear()
        elif number in _EXTENDED:
            value = field if ":" in field else _take_colour(field, fields)
            changes.append((_EXTENDED[number], value))
        else:
            changes.extend(_simple(number, field))
    return fresh, tuple(changes)


def _simple(number: int, field: str) -> list[tuple[str, str]]:
    """Return the change of one number that takes no arguments."""
    if number in _OFF:
        return [(slot, "") for slot in _OFF[number]]
    if field == "4:0":
        return [("underline", "")]
    if number in _ON:
        return [(_ON[number], field)]
    if 30 <= number <= 37 or 90 <= number <= 97:
        return [("fg", field)]
    if 40 <= number <= 47 or 100 <= number <= 107:
        return [("bg", field)]
    return []


def _take_colour(field: str, fields: list[str]) -> str:
    """Take the arguments of 38, 48 or 58 off `fields`; return "" when they make no colour."""
    kind = fields[0] if fields else ""
    count = {"5": 2, "2": 4}.get(kind, 0)
    taken, fields[:] = fields[:count], fields[count:]
    if len(taken) < count or not count:
        return ""
    return ";".join([field, *taken])


def _parse_number(field: str) -> int:
    """Return the leading number of a field; an empty one is 0, nonsense -1."""
    head = field.split(":", 1)[0]
    if not head:
        return 0
    return int(head) if head.isascii() and head.isdigit() and len(head) < 6 else -1
