"""Cookies as RFC 6265 §5 reads them, by hand: in a request's head, and in the heads of answers.

The standard library's parser took time by the square of a value's escapes (CVE-2024-7592, in every
Python before 3.11.10). Nothing of Atoll's writes an escape, so none is read: each character of a
head is looked at a fixed number of times.
"""

from collections.abc import Iterable, Iterator
from typing import Final

MAX_COOKIES: Final = 200
"""The cookies of one head that are read. Browsers send at most 180 of a site."""


def read_cookies(heads: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the names and values of the cookies in the `Cookie` or `Set-Cookie` headers of a head,
    in their order. Attributes of `Set-Cookie` come like cookies. A value loses its quotes."""
    for head in heads:
        for part in head.split(";", MAX_COOKIES)[:MAX_COOKIES]:
            name, equals, value = part.strip().partition("=")
            if equals and name:
                yield name.rstrip(), _unquote(value.lstrip())


def find_cookies(heads: Iterable[str], name: str, most: int = 4) -> tuple[str, ...]:
    """Return the values of the cookies of this name, at most `most`: a page of a neighbouring name
    may have set another one."""
    found: list[str] = []
    for one, value in read_cookies(heads):
        if one == name:
            found.append(value)
            if len(found) == most:
                break
    return tuple(found)


def _unquote(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] == '"'
    return value[1:-1] if quoted else value
