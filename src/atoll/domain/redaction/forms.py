"""The forms in which a secret may appear in output: itself, and what common tools make of it.

Pure. The list cannot be complete: anybody can invent one more encoding.
"""

import base64
import html
import json
import shlex
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus

SHORTEST = 8
"""The bytes of the shortest form searched for; shorter ones would blank ordinary output."""

LONG_VALUE = 8 * 1024
"""The length of a value above which only the likeliest forms are searched for."""

SHORTEST_LINE = 24
"""The characters of the shortest line searched for by itself, in a longer secret. It must hold no
blank: a key's body, not the prose or JSON around it."""

_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def forms(value: str) -> frozenset[bytes]:
    """Return every form of `value` to search for, each of at least `SHORTEST` bytes."""
    plain = value.encode("utf-8", "surrogatepass")
    found = set(_literal(value))
    found.update(_base64(plain))
    if len(plain) <= LONG_VALUE:
        found.update(_hexadecimal(plain))
        found.update(_quote_all_ways(value))
        found.update(_twice_quoted(value))
        found.update(_as_entities(value))
        found.update(_rearrange(value))
        found.add(_as_characters(plain))
    return frozenset(form for form in found if len(form) >= SHORTEST)


def broken_forms(value: str) -> Iterator[tuple[bytes, int]]:
    """Yield forms that a margin may cut within their first eight bytes, and how many of them are
    before it: the value anywhere, its Base64 between groups of four, dumps between bytes."""
    plain = value.encode("utf-8", "surrogatepass")
    if len(plain) > LONG_VALUE:
        return
    yield from ((plain.strip(), size) for size in range(1, SHORTEST))
    for before in range(3):
        packed = base64.b64encode(b"\0" * before + plain).rstrip(b"=")
        first = -(-before * 8 // 6)
        form = packed[first : (before + len(plain)) * 8 // 6]
        yield from ((form, size) for size in range(4 - first, SHORTEST, 4))
    for form in _hexadecimal(plain):
        yield from ((form, size) for size in range(1, SHORTEST) if form[size - 1 : size] == b" ")
    yield from ((_as_characters(plain), size) for size in (1, 5))


def _literal(value: str) -> Iterator[bytes]:
    """Return the value, also trimmed, also as a terminal prints its lines, also line by line."""
    for text in {value, value.strip()}:
        yield text.encode("utf-8", "surrogatepass")
        yield text.replace("\r\n", "\n").replace("\n", "\r\n").encode("utf-8", "surrogatepass")
    lines = value.splitlines()
    for line in lines if len(lines) > 1 else ():
        if len(line) >= SHORTEST_LINE and not any(each.isspace() for each in line):
            yield line.encode("utf-8", "surrogatepass")


def _base64(plain: bytes) -> Iterator[bytes]:
    """Return Base64 at each of the three alignments in a longer text, and as `base64` of a line."""
    for data in (plain, plain + b"\n"):
        yield from _both_alphabets(base64.b64encode(data).rstrip(b"="))
    for before in range(3):
        packed = base64.b64encode(b"\0" * before + plain).rstrip(b"=")
        # Characters at the edges also hold bits of the neighbours.
        begin = -(-before * 8 // 6)
        end = (before + len(plain)) * 8 // 6
        yield from _both_alphabets(packed[begin:end])
    yield base64.b32encode(plain).rstrip(b"=")


def _both_alphabets(packed: bytes) -> tuple[bytes, bytes]:
    return packed, packed.translate(_URL_SAFE)


def _hexadecimal(plain: bytes) -> Iterator[bytes]:
    """Return hex digits without spaces, in pairs, and in the groups of `xxd`, which may begin with
    the second byte of one."""
    for digits in (plain.hex(), plain.hex().upper()):
        pairs = [digits[at : at + 2] for at in range(0, len(digits), 2)]
        yield digits.encode()
        for between in (" ", ":", "\\x", "%", ", 0x"):
            yield between.join(pairs).encode()
        for first in (0, 2):
            groups = [digits[at : at + 4] for at in range(first, len(digits), 4)]
            yield " ".join(([digits[:2]] if first else []) + groups).encode()


def _quote_all_ways(value: str) -> Iterator[bytes]:
    """Yield the spellings in URLs, JSON, shells and source code."""
    for text in {
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        quote(value, safe="").lower(),
        json.dumps(value)[1:-1],
        json.dumps(value).replace("/", "\\/")[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(value)[1:-1])[1:-1],
        "".join(f"\\u{ord(each):04x}" for each in value),
        repr(value)[1:-1],
        shlex.quote(value).strip("'"),
        value.replace("'", "\\'"),
        "".join(each if each.isalnum() or each in "_-./:=@%+," else "\\" + each for each in value),
    }:
        yield text.encode("utf-8", "surrogatepass")


def _twice_quoted(value: str) -> Iterator[bytes]:
    """Return what a URL within a URL makes of it."""
    for once in {quote(value, safe=""), quote(value), quote_plus(value)}:
        yield quote(once, safe="").encode()
        yield quote(once, safe="").lower().encode()
    yield "".join(f"%25{each:02x}" for each in value.encode("utf-8", "surrogatepass")).encode()


_GO: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;", "+": "&#43;"}


def _as_entities(value: str) -> Iterator[bytes]:
    """Return the spellings of HTML: the few entities that libraries write, and all by number."""
    named = html.escape(value, quote=True)
    for text in {
        html.escape(value, quote=False),
        named,
        *(named.replace("&#x27;", mark) for mark in ("&#39;", "&#039;", "&apos;")),
        "".join(_GO.get(each, each) for each in value),
        *("".join(spell(ord(each)) for each in value) for spell in _NUMBERS),
        *("".join(e if e.isalnum() else spell(ord(e)) for e in value) for spell in _NUMBERS),
    }:
        yield text.encode("utf-8", "surrogatepass")


_NUMBERS: Final = ("&#{};".format, "&#x{:x};".format, "&#x{:X};".format, "&#{:03d};".format)
_ESCAPED: Final = dict(zip(b"\0\a\b\t\n\v\f\r", ("\\" + each for each in "0abtnvfr"), strict=True))


def _as_characters(plain: bytes) -> bytes:
    """Return it as `od -c` prints it: four columns a byte."""
    spelled = (
        chr(each) if 0x20 <= each < 0x7F else _ESCAPED.get(each, f"{each:03o}") for each in plain
    )
    return "".join(f"{each:>4}" for each in spelled).lstrip().encode()


def _rearrange(value: str) -> Iterator[bytes]:
    """Yield the value reversed, with its characters set apart, and as UTF-16."""
    for text in (value[::-1], " ".join(value), "\n".join(value), "-".join(value)):
        yield text.encode("utf-8", "surrogatepass")
    yield value.encode("utf-16-le", "surrogatepass")[:-1]
