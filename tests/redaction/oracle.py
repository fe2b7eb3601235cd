"""A slow, independent reading of a stream: which bytes are visible, and which hold a secret.

Shares nothing with `domain.redaction` but the list of forms a secret takes. A stream is read byte
by byte by a state machine, each form is searched in the visible bytes and in all bytes, and what is
found is mapped back.
"""

import re
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
    DCS = auto()
    DCS_DATA = auto()
    STRING = auto()


CONTROLS = {*map(chr, range(0x20)), "\x7f"}
CANCEL = {"\x18": State.GROUND, "\x1a": State.GROUND, "\x1b": State.ESCAPE}
STRINGS = dict.fromkeys("X^_", State.STRING)
STRINGS |= {"[": State.CSI, "]": State.OSC, "P": State.DCS}


def visible(data: bytes) -> list[int]:
    """Return the places of the bytes that a terminal draws in a column of their own."""
    return _walk(data)[0]


def shaping(data: bytes) -> set[int]:
    """Return the places of the bytes without which a sequence would swallow what follows it."""
    return _walk(data)[1]


@lru_cache
def _walk(data: bytes) -> tuple[list[int], set[int]]:
    state, at = State.GROUND, 0
    shown: list[int] = []
    shape: set[int] = set()
    for letter in data.decode("utf-8", "surrogateescape"):
        size = len(letter.encode("utf-8", "surrogateescape"))
        before, (drawn, state) = state, _read(state, letter)
        if drawn and not _unseen(letter):
            shown += range(at, at + size)
        inside = before in (State.ESCAPE, State.DESIGNATION, State.CSI)
        if inside and not drawn and (state is State.GROUND or before is State.ESCAPE):
            ends = state is not before and state is not State.DESIGNATION
            shape |= {at} if ends and letter not in CONTROLS and size == 1 else set()
        at += size
    return shown, shape


def _unseen(letter: str) -> bool:
    return letter == "\udcff" or unicodedata.category(letter) in ("Mn", "Me", "Cf")


def _read(state: State, letter: str) -> tuple[bool, State]:
    """Return whether a character is drawn, and the state after it."""
    if "\x80" <= letter <= "\x9f":
        return _read(State.ESCAPE, chr(ord(letter) - 0x40))
    if letter in CANCEL:
        return False, CANCEL[letter]
    match state:
        case State.GROUND:
            return letter not in CONTROLS, State.GROUND
        case State.OSC | State.DCS_DATA | State.STRING:
            return _in_string(state, letter)
        case State.ESCAPE if letter in STRINGS or letter in CONTROLS:
            return False, STRINGS.get(letter, State.ESCAPE)
        case State.ESCAPE | State.DESIGNATION:
            return _within(letter, State.DESIGNATION, first=" ", last="0")
        case State.CSI | State.DCS:
            drawn, after = _within(letter, state, first=" ", last="@")
            data = state is State.DCS and after is State.GROUND and not drawn
            return drawn, State.DCS_DATA if data else after


def _in_string(state: State, letter: str) -> tuple[bool, State]:
    if state is State.STRING and letter > "\x7f":
        return True, State.GROUND
    return False, State.GROUND if state is State.OSC and letter == "\x07" else state


def _within(letter: str, state: State, *, first: str, last: str) -> tuple[bool, State]:
    """A character inside a sequence whose finals begin with `last`."""
    if letter in CONTROLS or first <= letter < last:
        return False, state
    return (False, State.GROUND) if letter <= "~" else (True, State.GROUND)


def text(data: bytes) -> bytes:
    """Return the visible bytes."""
    return bytes(data[place] for place in visible(data))


def overdrawn(data: bytes, values: Iterable[str]) -> set[int]:
    """Return every place of a secret that a row shows at some moment, with all rows before it."""
    every = [form for value in values for form in _forms(value)]
    found: set[int] = set()
    for shown in _moments(data):
        drawn = bytes(data[place] for place in shown)
        for form in every:
            found |= {place for at in _everywhere(form, drawn) for place in shown[at:][: len(form)]}
    return found


def _moments(data: bytes) -> Iterator[list[int]]:
    """Yield the places of the bytes that rows show after each letter and each movement."""
    state, at, column, number = State.GROUND, 0, 0, ""
    before: list[int] = []
    row: dict[int, range] = {}
    for letter in data.decode("utf-8", "surrogateescape"):
        size = len(letter.encode("utf-8", "surrogateescape"))
        was, (drawn, state) = state, _read(state, letter)
        if drawn and not _unseen(letter):
            wide = unicodedata.east_asian_width(letter) in "WF"
            row |= {column: range(at, at + size)} | ({column + 1: range(0)} if wide else {})
            column += 1 + wide
        elif letter in "\n\v\f" and was in _ACTING:
            before += [place for _, each in sorted(row.items()) for place in each]
            row, column = {}, 0
        elif letter in "\b\r\t" and was in _ACTING:
            column = {"\b": max(0, column - 1), "\r": 0, "\t": column // 8 * 8 + 8}[letter]
        elif letter in "CD" and was is State.CSI:
            column = max(0, column + int(number or 1) * (1 if letter == "C" else -1))
        number = number + letter if letter.isdigit() and was is State.CSI else ""
        at += size
        yield before + [place for _, each in sorted(row.items()) for place in each]


@lru_cache
def followed(data: bytes) -> bool:
    """Return whether `overdrawn` knows every function in these bytes that changes a row."""
    state = State.GROUND
    for letter in data.decode("utf-8", "surrogateescape"):
        was, (_, state) = state, _read(state, letter)
        moves = letter in "DEMc" if was is State.ESCAPE else letter in "\x84\x85\x8d"
        if moves or (was is State.CSI and letter in "@ABEFGHIJKLMPSTXZ`adef"):
            return False
    return True


_ACTING = (State.GROUND, State.ESCAPE, State.DESIGNATION, State.CSI)
"""States in which a control character takes effect."""


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
    """Return the forms as they are, and without the control and unseen characters they hold."""
    whole = forms(value)
    bare = {_bare(form) for form in whole}
    return whole | {form for form in bare if len(form) >= SHORTEST}


def _bare(form: bytes) -> bytes:
    letters = form.decode("utf-8", "surrogateescape")
    kept = (each for each in letters if each not in CONTROLS and not _unseen(each))
    return "".join(kept).encode("utf-8", "surrogateescape")


def _everywhere(form: bytes, data: bytes) -> Iterator[int]:
    at = data.find(form)
    while at >= 0:
        yield at
        at = data.find(form, at + 1)


_EDGE = rb"[ |>+\-:#*;,.\"'`\\\[\]()<0-9\x80-\xff]"
_GAP = rb"(?:%s|\n){0,40}" % _EDGE
"""What a program may draw between two rows of one text, as far as a slow reader cares."""

_OFFSET = rb"\n*(?:(?:[0-9a-fA-F]\n*){6,16}:? {1,3})?"
"""An offset of a dump, which may look like the text before it. Other rows of the same text may end
without one."""

_COLUMNS = (
    rb"(?: {0,9}\n*[ -~]{0,64}?\n*(?:[0-9a-fA-F]\n*){6,16}:? {1,3}"
    rb"(?:(?:[0-9a-fA-F]{2,16} {1,3}){1,64} {0,100}[|>]?)?)?"
)
"""An offset, with the text that stands beside the digits of the row before, and with the digits
that stand before the text of its own row."""


def folded(data: bytes, values: Iterable[str]) -> set[int]:
    """Return every place that may belong to a secret which goes on behind a margin in another
    row."""
    text, places = _rows(data)
    found: set[int] = set()
    for form in {form for value in values for form in _forms(value) if len(form) < MOST_FOLDED}:
        letters = [re.escape(bytes([each])) for each in form]
        for gap in (
            _GAP,
            _GAP + b"?",
            _OFFSET,
            _COLUMNS,
        ):  # the longest margins, the shortest, dumps'
            pattern = re.compile(gap.join(b"(%s)" % each for each in letters))
            for at in _everywhere(form[:1], text):
                match = pattern.match(text, at)
                if match is not None and (b"\n" in match[0] or b"  " in match[0]):
                    found |= {places[match.start(group)] for group in range(1, len(form) + 1)}
    return found


def _rows(data: bytes) -> tuple[bytes, list[int]]:
    """Return the visible bytes with a line feed wherever a row may end, and their places."""
    shown = set(visible(data))
    ends = {
        at for at, each in enumerate(data) if at not in shown and each in b"\n\r\x0b\x0cABEFHdfDM"
    }
    kept = sorted(shown | ends)
    return bytes(data[at] if at in shown else 0x0A for at in kept), kept


MOST_FOLDED = 90
"""The bytes of the longest form that is looked for in rows."""


def hidden(data: bytes, values: Iterable[str]) -> set[int]:
    """Return every place that belongs to a secret."""
    return {place for places in occurrences(data, values) for place in places}


def masked(data: bytes, values: Iterable[str]) -> bytes:
    """Return the data with an asterisk for each column of a secret and all else as it was."""
    places, out, at = hidden(data, values) - shaping(data), b"", 0
    while at < len(data):
        begin = at
        while at < len(data) and (at in places) == (begin in places):
            at += 1
        out += _stars(data[begin:at]) if begin in places else data[begin:at]
    return out


def changed(data: bytes, out: bytes) -> set[int]:
    """Return the places of the letters in whose place `out` has asterisks."""
    places: set[int] = set()
    at = to = 0
    for letter in data.decode("utf-8", "surrogateescape"):
        raw = letter.encode("utf-8", "surrogateescape")
        if not out.startswith(raw, to):
            places |= set(range(at, at + len(raw)))
            raw, at = _stars(raw), at + len(raw) - len(_stars(raw))
            assert out.startswith(raw, to)
        at, to = at + len(raw), to + len(raw)
    assert to == len(out)
    return places


def _stars(data: bytes) -> bytes:
    out = ""
    for letter in data.decode("utf-8", "replace"):
        if letter < " " or letter == "\x7f":
            out += letter
        elif not unicodedata.combining(letter):
            out += "**" if unicodedata.east_asian_width(letter) in "WF" else "*"
    return out.encode()
