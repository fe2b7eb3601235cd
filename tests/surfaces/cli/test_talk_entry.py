"""The line that a person at `atoll attach` says to the others."""

import json

import pytest

from atoll.surfaces.cli.attach.talk import MAX_LINE, TalkEntry


def entered(*keys: bytes) -> str | None:
    """The text that was sent after these keys; None when none was."""
    entry, said = TalkEntry(), None
    assert entry.open_on(b"\x1f")
    for one in keys:
        said = entry.feed(one)
    return None if said is None else str(json.loads(said)["text"])


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ((b"hello", b"\r"), "hello"),
        ((b"h\xc3", b"\xa9!\r"), "h\u00e9!"),
        ((b"ab\x7fc\r",), "ac"),
        ((b"\x1b[A", b"a\x00\x02b\r"), "ab"),
        ((b"\x1b[200~two\nlines\x1b[201~", b"\r"), "two lines"),
        ((b"x" * 900 + b"\r",), "x" * MAX_LINE),
        ((b"  \r",), None),
    ],
)
def test_line_is_what_was_typed_without_keys_and_control_characters(
    keys: tuple[bytes, ...], text: str | None
) -> None:
    assert entered(*keys) == text


@pytest.mark.parametrize("key", [b"\x1b", b"\x03"])
def test_line_is_given_up(key: bytes) -> None:
    entry = TalkEntry()
    assert entry.open_on(b"\x1f") and entry.open
    assert entry.feed(b"secret") is None
    assert entry.shown.startswith("say: secret")
    assert entry.feed(key) is None
    assert not entry.open


def test_key_opens_nothing_within_other_keys_or_where_there_is_none() -> None:
    entry = TalkEntry()
    assert not entry.open_on(b"a\x1f")
    assert entry.open_on(b"\x1b[95;5u") and not entry.open_on(b"\x1f")
    assert not TalkEntry("none").open_on(b"\x1f")
