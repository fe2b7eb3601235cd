"""A slow, independent reading of a stream: which bytes are visible, and which hold a secret.

Shares nothing with `domain.redaction` but the list of forms a secret takes. A stream is read byte
by byte by a state machine, each form is searched in the visible bytes and in all bytes, and what is
found is mapped back.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from functools import lru_cache

from atoll.domain.redaction.forms import forms

SHORTEST = 8


class State(Enum):
    GROUND = auto()
    ESCAPE = auto()
    DESIGNATION = auto()
    CSI = auto()
    OSC = auto()
    STRING = auto()


def visible(data: bytes) -> list[int]:
    """Return the places of the bytes that are neither control characters nor in a sequence."""
    state, shown = State.GROUND, []
    for place, byte in enumerate(data):
        drawn, state = _read(state, byte)
        if drawn:
            shown.append(place)
    return shown


def _read(state: State, byte: int) -> tuple[bool, State]:
    if byte == 0x1B:
        return False, State.ESCAPE
    match state:
        case State.OSC:
            return False, State.GROUND if byte == 0x07 else State.OSC
        case State.STRING:
            return False, State.STRING
        case State.CSI:
            return _within(byte, State.CSI, last=range(0x40, 0x7F), middle=range(0x20, 0x40))
        case State.DESIGNATION:
            return _within(
                byte, State.DESIGNATION, last=range(0x30, 0x7F), middle=range(0x20, 0x30)
            )
        case State.ESCAPE:
            return _introduced(byte)
        case State.GROUND:
            return byte >= 0x20 and byte != 0x7F, State.GROUND


def _within(byte: int, state: State, *, last: range, middle: range) -> tuple[bool, State]:
    if byte in middle:
        return False, state
    return (False, State.GROUND) if byte in last else _read(State.GROUND, byte)


def _introduced(byte: int) -> tuple[bool, State]:
    strings = dict.fromkeys(b"PX^_", State.STRING) | {ord("["): State.CSI, ord("]"): State.OSC}
    if byte in strings:
        return False, strings[byte]
    return _within(byte, State.DESIGNATION, last=range(0x30, 0x7F), middle=range(0x20, 0x30))


def text(data: bytes) -> bytes:
    """Return the visible bytes."""
    return bytes(data[place] for place in visible(data))


def occurrences(data: bytes, values: Iterable[str]) -> list[list[int]]:
    """Return the places of each occurrence of each form of these values, in both readings."""
    shown = visible(data)
    drawn = bytes(data[place] for place in shown)
    found = []
    for form in {form for value in values for form in _forms(value)}:
        found += [list(range(at, at + len(form))) for at in _everywhere(form, data)]
        found += [shown[at : at + len(form)] for at in _everywhere(form, drawn)]
    return found


@lru_cache
def _forms(value: str) -> frozenset[bytes]:
    """Return the forms as they are, and without the control characters they hold."""
    whole = forms(value)
    bare = {bytes(each for each in form if each >= 0x20 and each != 0x7F) for form in whole}
    return whole | {form for form in bare if len(form) >= SHORTEST}


def _everywhere(form: bytes, data: bytes) -> Iterator[int]:
    at = data.find(form)
    while at >= 0:
        yield at
        at = data.find(form, at + 1)


def hidden(data: bytes, values: Iterable[str]) -> set[int]:
    """Return every place that belongs to a secret."""
    return {place for places in occurrences(data, values) for place in places}


def masked(data: bytes, values: Iterable[str]) -> bytes:
    """Return the data with an asterisk for each column of a secret and all else as it was."""
    places, out, at = hidden(data, values), b"", 0
    while at < len(data):
        begin = at
        while at < len(data) and (at in places) == (begin in places):
            at += 1
        out += _stars(data[begin:at]) if begin in places else data[begin:at]
    return out


def _stars(data: bytes) -> bytes:
    out = ""
    for letter in data.decode("utf-8", "replace"):
        if letter < " " or letter == "\x7f":
            out += letter
        elif not unicodedata.combining(letter):
            out += "**" if unicodedata.east_asian_width(letter) in "WF" else "*"
    return out.encode()
