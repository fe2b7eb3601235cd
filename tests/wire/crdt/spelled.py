"""Updates spelled by hand, honest or not."""

from dataclasses import dataclass
from typing import Any

from atoll.wire.crdt.lib0 import spell_bytes, spell_number, spell_text

MAP, TEXT = 1, 2


@dataclass(frozen=True)
class Part:
    """A struct: its number, where it stands, and the bytes of its content."""

    kind: int
    content: bytes = b""
    origin: tuple[int, int] | None = None
    right: tuple[int, int] | None = None
    parent: str | tuple[int, int] | None = None
    key: str | None = None
    flags: int = 0


def place(at: tuple[int, int]) -> bytes:
    return spell_number(at[0]) + spell_number(at[1])


def spell_part(one: Part) -> bytes:
    if one.kind in (0, 10):
        return bytes((one.kind | one.flags,)) + one.content
    info = one.kind | one.flags
    info |= (0x80 if one.origin else 0) | (0x40 if one.right else 0)
    info |= 0x20 if one.key is not None else 0
    found = bytes((info,))
    for at in (one.origin, one.right):
        found += b"" if at is None else place(at)
    if one.origin is None and one.right is None:
        if isinstance(one.parent, str):
            found += b"\x01" + spell_text(one.parent)
        else:
            found += b"\x00" + place(one.parent or (0, 0))
        found += b"" if one.key is None else spell_text(one.key)
    return found + one.content


def spell_update(
    *groups: tuple[int, int, list[Part]], gone: tuple[tuple[int, int, int], ...] = ()
) -> bytes:
    """Return an update: groups are client, first clock and parts; `gone` client, clock, length."""
    found = spell_number(len(groups))
    for client, clock, parts in groups:
        found += spell_number(len(parts)) + spell_number(client) + spell_number(clock)
        found += b"".join(map(spell_part, parts))
    found += spell_number(len(gone))
    for client, clock, length in gone:
        found += spell_number(client) + b"\x01" + spell_number(clock) + spell_number(length)
    return found


def shared(number: int, **more: Any) -> Part:
    return Part(7, spell_number(number), **more)


def string(text: str, **more: Any) -> Part:
    return Part(4, spell_text(text), **more)


def values(*spelled: bytes, **more: Any) -> Part:
    return Part(8, spell_number(len(spelled)) + b"".join(spelled), **more)


def deleted(length: int, **more: Any) -> Part:
    return Part(1, spell_number(length), **more)


def mark(key: str, value: str, **more: Any) -> Part:
    return Part(6, spell_text(key) + spell_text(value), **more)


def binary(data: bytes, **more: Any) -> Part:
    return Part(3, spell_bytes(data), **more)
