"""Values that can be secrets: long enough to be distinctive, rare enough to be masked.

Every value is replaced by asterisks wherever it shows in a sandbox's output, so a common value
would blank ordinary output (threats 87). No message here ever holds a value or a part of one.
"""

import math
import re
from collections import Counter
from itertools import pairwise

from atoll.domain.errors import Invalid
from atoll.wire.words.secrets import Purpose

MIN_CHARACTERS = 8
MAX_BYTES = 64 * 1024
MIN_BITS = 18.0
"""The entropy by the value's own character statistics below which it is a pattern, not a secret."""

_SHOWN = 4
_SHOW_FROM = 12
"""The length below which a value shows nothing of itself."""

_LINE = re.compile(r"[!-~]+(?: [!-~]+)*")
_TEXT = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
_WORD = re.compile(r"[a-z]{1,14}")
_COMMON = frozenset(
    {
        "password", "password1", "password12", "password123", "passw0rd", "p@ssw0rd", "passwort",
        "changeme", "changeit", "qwertyui", "qwertyuiop", "qwerty123", "asdfghjk", "12345678",
        "123456789", "1234567890", "123123123", "87654321", "iloveyou", "letmein1", "welcome1",
        "admin123", "administrator", "root1234", "abcd1234", "abc12345", "test1234", "trustno1",
        "superman", "football", "baseball", "sunshine", "princess", "starwars", "whatever",
        "computer", "internet", "undefined", "localhost", "127.0.0.1", "workspace", "/workspace",
        "homeagent", "/home/agent", "/usr/bin/env", "/bin/bash", "/bin/sh", "/usr/bin",
        "/usr/local", "/usr/local/bin", "xterm-256color", "truecolor", "anthropic", "openai.com",
        "github.com", "https://", "http://localhost", "atoll-placeholder", "placeholder",
        "00000000", "refs/heads", "origin/main", "node_modules", "package.json", "requirements",
        "function",
    }
)  # fmt: skip
"""The common passwords, and words that programs print often, in lower case."""


def check_value(value: str, purpose: Purpose) -> str:
    """Return `value` when it can be a secret for that. Raises `Invalid`, field `value`."""
    if not _encodable(value) or len(value.encode()) > MAX_BYTES:
        raise _invalid_value(f"the value may have {MAX_BYTES} bytes of UTF-8")
    if len(value) < MIN_CHARACTERS:
        raise _invalid_value(f"the value needs at least {MIN_CHARACTERS} characters")
    if not _TEXT.fullmatch(value):
        raise _invalid_value("the value holds a control character other than tab and line ends")
    if purpose is not Purpose.ENV and not _LINE.fullmatch(value):
        raise _invalid_value("what goes out in a request is one line of printable ASCII")
    if _ordinary(value):
        raise _invalid_value(
            "the value is too ordinary: it would blank words of everyday output. Use a longer, "
            "random one"
        )
    return value


def last4(value: str) -> str:
    """Return the last four characters, to tell secrets apart.

    A short value shows none, since four of eight would be half of it. What cannot be printed shows
    as `?`.
    """
    tail = value.rstrip()[-_SHOWN:] if len(value) >= _SHOW_FROM else ""
    return "".join(char if "!" <= char <= "~" else "?" for char in tail)


def _ordinary(value: str) -> bool:
    plain = value.strip()
    lowered = plain.lower()
    if len(plain) < MIN_CHARACTERS or lowered in _COMMON or _WORD.fullmatch(lowered):
        return True
    return _repeats(lowered) or _is_sequence(lowered) or _bits(plain) < MIN_BITS


def _encodable(value: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in value)


def _bits(text: str) -> float:
    """Return Shannon's entropy of its own characters, times its length."""
    counts = Counter(text)
    total = len(text)
    return -sum(n * math.log2(n / total) for n in counts.values())


def _repeats(text: str) -> bool:
    """Report whether it is a short piece again and again (`abcabcabc`, `--------`)."""
    return (text + text).find(text, 1) < len(text)


def _is_sequence(text: str) -> bool:
    """Report whether each character follows the one before, up or down (`abcdefgh`, `98765432`)."""
    steps = {ord(after) - ord(before) for before, after in pairwise(text)}
    return steps in ({1}, {-1})


def _invalid_value(sentence: str) -> Invalid:
    return Invalid(sentence, field="value")
