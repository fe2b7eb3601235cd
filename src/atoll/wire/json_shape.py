"""The shape of JSON text before it is parsed: how many values it has, and how deep they nest.

Parsed, `[[],[],…]` takes fifty times the memory of its text, and a name that is given twice, or a
value in a value, time that grows faster than the text. So every body of a stranger is looked at
here first: in linear time, without making a value. The text need not be JSON.
"""

from typing import Final

MAX_VALUES: Final = 10_000
"""The values of a usual body, names of members not counted."""

MAX_DEPTH: Final = 32

BYTES_OF_VALUE: Final = 64
"""The bytes of a number at most, of as many as there may be values: long ones are slow to parse."""

_BETWEEN: Final = b" \t\r\n,:[]{}"
_NOT_BRACKETS: Final = bytes(sorted(set(range(256)) - set(b"[]{}")))


class Misshapen(ValueError):
    """Error of JSON with too many values, or nested too deeply. The text says which."""


def check_shape(data: bytes, *, values: int = MAX_VALUES, depth: int = MAX_DEPTH) -> None:
    """Check JSON text against bounds. Raises `Misshapen`."""
    if _most_values(data) <= min(values, depth):
        return
    # Without escaped backslashes and then escaped quotes, each quote opens or closes a text.
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * (values + 1):  # a value is one text at most, and so is its name
        raise Misshapen(f"it has more than {values} values")
    bare = b"".join(plain.split(b'"')[::2])
    if _most_values(bare) > values:
        raise Misshapen(f"it has more than {values} values")
    if len(bare.translate(None, _BETWEEN)) > BYTES_OF_VALUE * values:
        raise Misshapen(f"it has more than {BYTES_OF_VALUE * values} bytes of numbers")
    brackets = bare.translate(None, _NOT_BRACKETS)
    if len(brackets) > 2 * values:  # it opens fewer, and each closes once
        raise Misshapen("it closes more than it opens")
    if _depth(brackets) > depth:
        raise Misshapen(f"it is nested deeper than {depth}")


def _most_values(data: bytes) -> int:
    """Return a bound of the number of values, which texts with such characters make too high."""
    return 1 + data.count(b",") + data.count(b"[") + data.count(b"{")


def _depth(brackets: bytes) -> int:
    depth = most = 0
    for bracket in brackets:
        if bracket in b"[{":
            depth += 1
            most = max(most, depth)
        else:
            depth -= 1
    return most
