"""Credentials in the head of a request to a preview: found however written, and taken out."""

import base64
from urllib.parse import quote

import pytest

from atoll.domain.errors import Forbidden
from atoll.domain.people.login import spell_secret
from atoll.domain.previews.own_credentials import (
    MAX_WORDS,
    OPAQUE_CHARACTERS,
    SHORTEST,
    holder,
    target_without_own,
    without_own,
    words_in,
)

OURS = spell_secret(b"o" * 32)
THEIRS = spell_secret(b"t" * 32)
HOLDS = holder([OURS.encode()])


def escaped(text: str, layers: int) -> str:
    text = "".join(f"%{ord(one):02x}" for one in text)
    for _ in range(layers - 1):
        text = quote(text, safe="")
    return text


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


WRITTEN = {
    "plain": f"Bearer {OURS}",
    "after a dot": f"atoll.key.{OURS}",
    "after a tilde": f"v1~{OURS}",
    "at the end of a word": f"key-{OURS}",
    "at the beginning of a word": f"{OURS}-more",
    "escaped": escaped(OURS, 1),
    "escaped three times": escaped(OURS, 3),
    "base64": f"Basic {in_base64(f'x:{OURS}')}",
    "base64 without its end": in_base64(f"xy:{OURS}").rstrip("="),
    "base64 of the other alphabet": base64.urlsafe_b64encode(f"~~?:{OURS}".encode()).decode(),
    "base64 that is escaped": quote(in_base64(f"x:{OURS}"), safe=""),
}


def test_opaque_word_is_as_long_as_a_spelled_secret() -> None:
    assert len(OURS) == OPAQUE_CHARACTERS


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_credential_is_found_however_it_is_written(text: str) -> None:
    assert OURS in words_in([b"nothing here", text.encode()])
    assert HOLDS(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        THEIRS,
        OURS[:-1],
        escaped(OURS, 4),
        "a" * 17,  # no base64 has this length
        in_base64("\0" * 30),  # says no text
    ],
)
def test_text_without_a_credential_holds_none(text: str) -> None:
    assert OURS not in words_in([text.encode()])
    assert not HOLDS(text.encode())


def test_short_words_are_no_credentials() -> None:
    short = "a" * (SHORTEST - 1)
    assert words_in([short.encode()]) == frozenset()
    assert not holder([short.encode(), b""])(short.encode())
    assert holder([b"a" * SHORTEST])(b"a" * SHORTEST)


def test_head_of_too_many_words_is_refused() -> None:
    words = [f"word!{number:016d}".encode() for number in range(MAX_WORDS + 1)]
    assert len(words_in(words[:100])) == 100
    with pytest.raises(Forbidden) as at:
        words_in(words)
    assert at.value.code == "own_credential"


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [
        ("x-any", f"before {OURS}, after", None),
        ("x-any", f"before {THEIRS}, after", f"before {THEIRS}, after"),
        ("x-any", " ", None),
        ("cookie", f"a=1; b={OURS}; c={THEIRS}", f"a=1; c={THEIRS}"),
        ("cookie", f"b={OURS}", None),
        ("sec-websocket-protocol", f"chat,, k.{OURS} , other", "chat, other"),
        ("sec-websocket-protocol", "atoll.page, Atoll.key.x, chat", "chat"),
        ("sec-websocket-protocol", "atoll.page", None),
    ],
)
def test_headers_lose_credentials_and_keep_the_rest(
    name: str, value: str, left: str | None
) -> None:
    host = (b"host", b"app.example")
    kept = () if left is None else ((name.encode(), left.encode()),)
    found = without_own((host, (name.encode(), value.encode())), HOLDS)
    assert found == (host, *kept)


@pytest.mark.parametrize(
    ("query", "target"),
    [
        ("", "/p"),
        ("a=1;b=2&&c", "/p?a=1;b=2&&c"),
        (f"a=1&t={OURS}&b=2", "/p?a=1&b=2"),
        (f"a=1;t={OURS};b={THEIRS}", f"/p?a=1&b={THEIRS}"),
        (f"t={OURS}", "/p"),
    ],
)
def test_query_loses_the_parts_with_a_credential(query: str, target: str) -> None:
    assert target_without_own(b"/p", query.encode(), HOLDS) == target.encode()


def test_path_with_a_credential_is_refused_without_its_words() -> None:
    with pytest.raises(Forbidden) as at:
        target_without_own(f"/x/{OURS}".encode(), b"", HOLDS)
    assert at.value.code == "own_credential"
    assert OURS not in at.value.message
