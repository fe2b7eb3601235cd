"""Streams with secrets in them: text, escape sequences and folds in any order, cut anywhere; and
rows that are drawn over. Cursor addressing is not made here."""

import base64
import html
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from urllib.parse import quote

import pytest

WIDTHS = (20, 33, 80)
KEY = "sk-canary-Zq81xLw03Mvb77TtNe"
PEM = "-----BEGIN KEY-----\n" + "\n".join(("Ab3dE" * 6, "Zz9yX" * 6)) + "\n-----END KEY-----\n"
VALUES = (
    KEY,
    'pa"ss wörd/+&%2Fq',
    PEM,
    "秘密の鍵です本当に",
    "31mABCDEFGHIJ",
    "[0m;12345678",
    "aaaaaaaaab",
    "12345678",
)
PLAIN = (KEY, "31mABCDEFGHIJ", "[0m;12345678", "aaaaaaaaab", "12345678")
"""Those of one byte a letter and one column a byte."""

COLOURS = ("\x1b[m", "\x1b[0m", "\x1b[32m", "\x1b[1;38;5;200m", "\x1b[38:2::1:2:3m", "\x1b[4;31m")
STRINGS = (
    "\x1b]0;title\x07",
    "\x1b]633;C;0123456789abcdef\x07",
    "\x1b]8;;https://example.org\x1b\\",
    "\x1b]8;;\x07",
    "\x1bP+q544e\x1b\\",
    "\x1b_Ga=d\x1b\\",
    "\x1b^private\x1b\\",
    "\x1b]11;?\x1b\\",
)
SHIFTS = ("\x1b(B", "\x1b)0", "\x1b*A", "\x0f", "\x1b[?2004h", "\x1b[?25l", "\x1b=", "\x1b>")
GRAPHICS = ("\x1b(0", "\x0e", "\x1bn")
STILL = ("\x07", "\x00", "\x05", "\r\n", "\r\n\r\n", "\x7f")
"""Control characters that never draw over what is there."""

MOVING = (
    "\n",
    "\r",
    "\x08",
    "\t",
    "\x0b",
    "\x0c",
    "\x1b",
    "\x1b[3é",
    "\x1b(é",
    "\x1b\x00",
    "\x1b[ 5q",
)
WORDS = ("ordinary ", "line", "z", "wörld ", "字", "sk-", "$ ", "0m", "[31m", "]0;", "  ", "12345")

BROKEN = (
    "\x1b[3\x071m",
    "\x1b\x00[31m",
    "\x1b[31\x7fm",
    "\x1b[3\x18",
    "\x1b[1;\x1a",
    "\x1b\x18",
    "\x1b]0;title\x18",
    "\x1bP+q54\x1a",
    "\x1b_Ga=d\x18",
    "\x9b31m",
    "\x9b3\x001m",
    "\x9d0;title\x9c",
    "\x90+q544e\x9c",
    "\x9fGa=d\x9c",
    "\x1b]0;t\x00itle\x07",
)
"""Sequences spelled as few programs do: with control characters, cancelled, or in 8 bits."""

UNSEEN = ("\u200b", "\u0301", "\ufeff", "\u2060", "\u20dd", "\u200d\u0300")

SAFE = COLOURS + STRINGS + SHIFTS + STILL + BROKEN
ALL = SAFE + GRAPHICS + MOVING + UNSEEN + ("\x85", "\x84", "\x1b[3\n1m", "\x9b2")


@dataclass(frozen=True)
class Case:
    """`parts` joined are a stream. It is written in pieces that end at the places of `cuts`; where
    the cut says so the clock ticks then."""

    values: tuple[str, ...]
    parts: tuple[bytes, ...]
    cuts: tuple[tuple[int, bool], ...]

    @property
    def stream(self) -> bytes:
        return b"".join(self.parts)

    @property
    def pieces(self) -> Iterator[tuple[bytes, bool]]:
        """What is written at a time, and whether the clock ticks after it."""
        stream, begin = self.stream, 0
        for place, pause in (*self.cuts, (len(stream), False)):
            yield stream[begin:place], pause
            begin = max(begin, place)


@dataclass(frozen=True, slots=True)
class World:
    """What streams are made of: the values, and what stands between and beside their letters."""

    values: tuple[str, ...] = VALUES
    between: tuple[str, ...] = ALL
    words: tuple[str, ...] = WORDS

    def case(self, chance: Random) -> Case:
        """Return some stream of up to three of the values, cut into pieces."""
        values = tuple(chance.sample(self.values, chance.randint(1, 3)))
        parts: list[str] = []
        for _ in range(chance.randint(1, 14)):
            if chance.random() < 0.35:
                parts += self._shown(chance, chance.choice(values))
            else:
                noise = chance.choice(chance.choice((self.between, self.words)))
                parts += [noise] * (1 if chance.random() < 0.6 else chance.randint(2, 9))
        packed = tuple([part.encode() for part in parts if part])
        return Case(values, packed, cuts(chance, sum(map(len, packed))))

    def _shown(self, chance: Random, value: str) -> list[str]:
        """Some way in which a program shows a value, or a part of it."""
        part = value[chance.choice((0, 0, 0, 0, 1, 3)) : chance.choice((None,) * 5 + (-1, 7, 12))]
        match chance.randrange(8):
            case 0:
                return [part]
            case 1:
                return ["\x1b]0;", part, "\x07"]
            case 2:
                return [base64.b64encode(part.encode()).decode()]
            case _:
                return self._spread(chance, part)

    def _spread(self, chance: Random, value: str) -> list[str]:
        """A value with something between its letters, or only between some."""
        every = chance.choice((1, 1, 2, 7))
        fillers = [chance.choices(self.between, k=chance.choice((1, 1, 2, 3))) for _ in range(4)]
        parts: list[str] = []
        for at, letter in enumerate(value):
            parts.append(letter)
            if (at + 1) % every == 0:
                parts += chance.choice(fillers)
        return parts


OVER = (KEY, "31mABCDEFGHIJ", "aaaaaaaaab", 'pa"ss wörd/+&%2Fq')
"""Values of one row and one column a letter: of the stars for a wide letter one stays where the
other is drawn over."""


@dataclass(frozen=True, slots=True)
class Overdrawn:
    """Rows on which values are drawn with mistakes that are drawn over, in parts or again."""

    def case(self, chance: Random) -> Case:
        values = tuple(chance.sample(OVER, chance.randint(1, 2)))
        parts: list[str] = []
        for _ in range(chance.randint(1, 4)):
            for _ in range(chance.choice((1, 1, 2, 3))):
                parts += self._drawn(chance, chance.choice(values))
            parts.append(chance.choice(("\r\n", "\r\n", "\r", "")))
        packed = tuple([part.encode() for part in parts if part])
        return Case(values, packed, cuts(chance, sum(map(len, packed))))

    def _drawn(self, chance: Random, value: str) -> list[str]:
        match chance.randrange(6):
            case 0:
                return chance.choices((*WORDS, *EDITS, *COLOURS), k=chance.randint(1, 9))
            case 1:
                return self._turned(chance, value)
            case _:
                return self._mended(chance, value)

    def _mended(self, chance: Random, value: str) -> list[str]:
        """From left to right: here and there something else stands in the place of a part first."""
        parts, at, often = [], 0, chance.choice((0.1, 0.4, 0.9))
        while at < len(value):
            part = value[at : at + chance.choice((1, 1, 2, 5, 12))]
            if chance.random() < often:
                parts += _mistake(chance, value[:at], part)
            parts.append(part)
            at += len(part)
        return parts

    def _turned(self, chance: Random, value: str) -> list[str]:
        """Its end before its beginning."""
        at = chance.randint(1, len(value) - 1)
        right = chance.choice((f"\x1b[{len(value[:at])}C", "x" * len(value[:at])))
        back = f"\x1b[{len(value)}D"
        return ["\r", right, value[at:], chance.choice(("\r", back)), value[:at]]


EDITS = (
    "\x08", "\x1b[D", "\x1b[2D", "\r", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[C", "\x1b[3G",
    "\x1b[P", "\x1b[@", "\x1b[2X", "\t", "\x1b[\x08D", "\x1b\x00[D", "\x9bD", "\x1b[Z",
)  # fmt: skip


def _mistake(chance: Random, before: str, part: str) -> list[str]:
    """Something wrong behind `before`, and what leads back to where it began."""
    wrong = "".join(chance.choices("xz-s1", k=chance.randint(1, 4)))
    size = len(wrong)
    colour = chance.choice(("", *COLOURS))
    match chance.randrange(7):
        case 0:
            return [wrong, "\x08" * size]
        case 1:
            return [wrong, f"\x1b[{size}D", colour]
        case 2:
            return [wrong, colour, "\x1b[D" * size, chance.choice(("", "\x1b[K"))]
        case 3:
            return ["\r\x1b[K", before]
        case 4:
            return [wrong, "\r", before]
        case 5:
            return [wrong, "\r\x1b[", str(len(before)), "C"] if before else [wrong, "\r"]
        case _:
            return [wrong, "\x08" * size, "\x1b[", str(size), chance.choice("PX")]


def cuts(chance: Random, size: int) -> tuple[tuple[int, bool], ...]:
    """Return few cuts or many, or one after every byte."""
    several = (0, 1, 1, 3, 12)
    some = [chance.randint(0, size) for _ in range(chance.choice(several))]
    places = range(1, size) if chance.random() < 0.05 else sorted(some)
    often = chance.choice((0.1, 0.5, 1.0))
    return tuple([(place, chance.random() < often) for place in places])


def smaller(case: Case) -> Iterator[Case]:
    """Yield cases with something left out, the greatest omissions first."""
    for name in ("parts", "cuts", "values"):
        several = getattr(case, name)
        size = len(several)
        while size:
            for at in range(0, len(several), size):
                less = several[:at] + several[at + size :]
                if less or name == "cuts":
                    yield replace(case, **{name: less})
            size //= 2


FOLDED = "sk-canary-Zq81xLw03Mvb77TtNe4Rr+9Kk/2Ua0Pp6Yy"
Fold = Callable[[bytes], bytes]


def _framed(before: str, after: str, width: int = 24, between: str = "\n") -> Fold:
    def fold(text: bytes) -> bytes:
        line = text.decode().replace("\n", " ")
        rows = [line[at : at + width].ljust(width) for at in range(0, len(line), width)]
        return between.join(before + row + after for row in rows).encode() + b"\n"

    return fold


def table(text: bytes) -> bytes:
    return _framed("| ", " |")(text)


def box(text: bytes) -> bytes:
    return _framed("\u2502 ", " \u2502", between="\r\n")(text)


def added_lines(text: bytes) -> bytes:
    return _framed("\x1b[32m+", "\x1b[0m")(text)


def removed_lines(text: bytes) -> bytes:
    return _framed("-", "")(text)


def numbered(text: bytes) -> bytes:
    rows = _framed("", "")(text).splitlines(keepends=True)
    return b"".join(b"%6d\t%s" % each for each in enumerate(rows, 8))


def quoted_base64(text: bytes) -> bytes:
    return b"".join(b"> " + line for line in base64.encodebytes(text * 2).splitlines(keepends=True))


def indented_base64(text: bytes) -> bytes:
    lines = base64.encodebytes(text * 2).splitlines(keepends=True)
    return b"key: |\n" + b"".join(b"    " + line for line in lines)


def listed_base64(text: bytes) -> bytes:
    lines = base64.encodebytes(text * 2).splitlines()
    return b"[\n" + b",\n".join(b'  "' + line + b'"' for line in lines) + b"\n]\n"


def xxd(text: bytes) -> bytes:
    return _made_by("xxd", text=text)


def hexdump(text: bytes) -> bytes:
    return _made_by("hexdump", "-C", text=text)


def od(text: bytes) -> bytes:
    return _made_by("od", "-c", text=text)


def _made_by(*argv: str, text: bytes) -> bytes:
    program = shutil.which(argv[0])
    if program is None:
        pytest.skip(f"needs {argv[0]}")
    return subprocess.run([program, *argv[1:]], input=text, capture_output=True, check=True).stdout


TEXTS: tuple[Fold, ...] = (table, box, added_lines, removed_lines, numbered)
FOLDS = (*TEXTS, quoted_base64, indented_base64, listed_base64, xxd, hexdump, od)
"""What common programs make of a text that is longer than their rows."""

AWKWARD = "a\"b'c&d<e>f+g/h=i j-k"


def html_named(text: bytes) -> bytes:
    return html.escape(text.decode()).encode()


def html_decimal(text: bytes) -> bytes:
    return b"".join(b"&#%d;" % each for each in text)


def html_hexadecimal(text: bytes) -> bytes:
    return b"".join(b"&#x%x;" % each for each in text)


def url_twice(text: bytes) -> bytes:
    return quote(quote(text, safe=""), safe="").encode()


SPELLED: tuple[Fold, ...] = (html_named, html_decimal, html_hexadecimal, url_twice)
"""What web pages and links make of a text."""
