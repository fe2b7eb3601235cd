"""Durations as people write them: `90s`, `15m`, `4h`, `2d`, `1h30m`; plain seconds as numbers."""

import re

_PARTS = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,7})h)?(?:(\d{1,8})m)?(?:(\d{1,10})s)?\Z")
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))

MAX_SECONDS = 365 * 86400
"""The longest duration, a year: longer than any sandbox should be promised."""


def parse_duration(text: str | int, *, bare: bool = False) -> int:
    """Return seconds, 1 to a year.

    Text needs a unit, unless `bare` takes plain numbers as seconds: a person who writes 4 for a
    sandbox's life may well mean hours. Raises `ValueError` with a sentence.
    """
    if isinstance(text, bool):
        raise ValueError("a duration is a number of seconds or text such as 90s, 15m, 4h or 2d")
    seconds = text if isinstance(text, int) else _parse_seconds(text, bare=bare)
    if not 1 <= seconds <= MAX_SECONDS:
        raise ValueError("a duration lies between 1 second and 365 days")
    return seconds


def _parse_seconds(text: str, *, bare: bool) -> int:
    """Return the seconds of a duration such as `1h30m`. Raises `ValueError`."""
    if text.isascii() and text.isdigit() and len(text) <= 10:
        if bare:
            return int(text)
        raise ValueError(f"a duration needs a unit: write {text}s, {text}m, {text}h or {text}d")
    match = _PARTS.match(text) if text.isascii() else None
    if match is None or not text:
        raise ValueError(f"{text[:40]!r} is no duration: write 90s, 15m, 4h, 2d or 1h30m")
    parts = zip(match.groups(), _UNITS, strict=True)
    return sum(int(number) * unit for number, (unit, _) in parts if number is not None)


def spell_duration(seconds: int) -> str:
    """Return the shortest spelling `parse_duration` reads back: 5400 is `1h30m`."""
    words = []
    for unit, letter in _UNITS:
        number, seconds = divmod(seconds, unit)
        if number:
            words.append(f"{number}{letter}")
    return "".join(words) or "0s"
