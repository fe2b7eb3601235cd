"""Secrets in streams: masked wherever the stream is cut, and nothing else changed or kept."""

import base64
import itertools
import json
import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.redactor import ROOM_BYTES, Redactor

KEY = "sk-canary-Zq81xLw03Mvb77TtNe"
OTHER = 'pa"ss wörd/+&%2Fq'
PEM = "-----BEGIN KEY-----\n" + "\n".join(("Ab3dE" * 8, "Zz9yX" * 8)) + "\n-----END KEY-----\n"
LEXICON = Lexicon((KEY, OTHER, PEM))
ESCAPES = re.compile(rb"\x1b\[[0-9;]*m")


def through(pieces: Iterable[bytes], lexicon: Lexicon = LEXICON) -> bytes:
    redactor = Redactor(lexicon)
    return b"".join([*map(redactor.feed, pieces), redactor.flush()])


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = [0, *sorted(each % (len(data) + 1) for each in at), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(places)]


TEXT = st.lists(
    st.sampled_from(
        [KEY, KEY[:7], KEY[:12], KEY[3:], OTHER, PEM, "sk-", "ordinary ", "\r\n", "wörld", "z"]
    ),
    max_size=12,
).map("".join)


@given(TEXT, st.lists(st.integers(0, 2000), max_size=30))
def test_redactor_text_cut_anywhere_is_masked_as_if_whole(text: str, at: list[int]) -> None:
    data = text.encode()
    assert through(cut(data, at)) == LEXICON.redact(data)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=20))
def test_redactor_bytes_without_secrets_are_unchanged(data: bytes, at: list[int]) -> None:
    assert through(cut(data, at)) == data


@given(st.lists(st.integers(0, 2), min_size=len(KEY), max_size=len(KEY)), st.integers(1, 40))
def test_redactor_secret_between_escapes_is_masked(how: list[int], size: int) -> None:
    between = (b"", b"\x1b[31m", b"\r\n")
    data = b"a" + b"".join(c.encode() + between[h] for c, h in zip(KEY, how, strict=True)) + b"b"
    shown = through([data[n : n + size] for n in range(0, len(data), size)])
    plain = ESCAPES.sub(b"", shown).replace(b"\r\n", b"")
    assert plain == b"a" + b"*" * len(KEY) + b"b"


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        KEY[::-1],
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        KEY.encode().hex(" "),
        KEY.encode().hex(" ", 2),
        base64.b64encode(KEY.encode()).decode(),
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        base64.b64encode(f"u:{KEY}!".encode()).decode(),
        base64.b64encode(f"us:{KEY}!!".encode()).decode(),
        base64.urlsafe_b64encode(f"{KEY}\n".encode()).decode(),
        base64.b32encode(KEY.encode()).decode(),
        "".join(f"%{each:02X}" for each in KEY.encode()),
        "".join(f"\\x{each:02x}" for each in KEY.encode()),
        "".join(f"\\u{ord(each):04x}" for each in KEY),
        "\n".join(KEY),
        " ".join(KEY),
        json.dumps(OTHER),
        json.dumps(json.dumps(OTHER)),
        "pa%22ss%20w%C3%B6rd%2F%2B%26%252Fq",
        "pa%22ss+w%C3%B6rd%2F%2B%26%252Fq",
        PEM.replace("\n", "\r\n"),
        PEM.splitlines()[1],
        json.dumps(PEM),
    ],
)
def test_redactor_encoded_secret_is_masked(form: str) -> None:
    shown = through([f"<{form}>".encode()]).decode()
    assert shown[0] == "<" and shown[-1] == ">"
    inside = shown[1:-1]
    # base64 of a longer text shows its own edges; hardly more may be left than those.
    left = re.sub(r"[\s*\"\\]", "", inside)
    assert len(left) <= max(10, len(form) // 5), inside
    assert inside.count("*") >= 8


def test_redactor_text_that_starts_no_secret_passes_at_once() -> None:
    redactor = Redactor(LEXICON)
    assert redactor.feed(b"$ ls\r\n_") == b"$ ls\r\n_"
    assert not redactor.waiting


def test_redactor_short_beginning_waits_for_one_tick_and_the_rest_is_masked() -> None:
    redactor = Redactor(LEXICON)
    assert redactor.feed(b"x" + KEY[:6].encode()) == b"x"
    assert redactor.waiting
    assert redactor.tick() == KEY[:6].encode()
    assert not redactor.waiting
    assert redactor.feed(KEY[6:].encode() + b"y") == b"*" * (len(KEY) - 6) + b"y"


def test_redactor_long_beginning_waits_for_its_decision() -> None:
    redactor = Redactor(LEXICON)
    assert redactor.feed(KEY[:20].encode()) == b""
    assert not redactor.waiting
    assert redactor.tick() == b""
    assert redactor.feed(b"!") == KEY[:20].encode() + b"!"


def test_redactor_long_beginning_at_the_end_is_shown() -> None:
    assert through([KEY[:20].encode()]) == KEY[:20].encode()


def test_redactor_letter_by_letter_shows_at_most_seven() -> None:
    redactor = Redactor(LEXICON)
    shown = b""
    for letter in KEY.encode():
        shown += redactor.feed(bytes([letter])) + redactor.tick()
    assert shown + redactor.flush() == KEY[:7].encode() + b"*" * (len(KEY) - 7)


def test_redactor_unfinished_secret_stretched_without_end_is_masked_and_bounded() -> None:
    redactor = Redactor(LEXICON)
    shown = redactor.feed(KEY[:20].encode())
    for _ in range(ROOM_BYTES // 4096 + 8):
        shown += redactor.feed(b"\x1b[31m" * 819)
    assert b"canary" not in shown
    assert len(redactor.flush()) < ROOM_BYTES + 10_000


def test_redactor_wide_letters_are_masked_by_their_columns() -> None:
    lexicon = Lexicon(("秘密の鍵です本当に",))
    assert through(["秘密の鍵です本当に".encode()], lexicon) == b"*" * 18


def test_redactor_new_lexicon_counts_at_once() -> None:
    redactor = Redactor(Lexicon())
    assert redactor.feed(KEY.encode()) == KEY.encode()
    redactor.use(LEXICON)
    assert redactor.feed(KEY.encode()) + redactor.flush() == b"*" * len(KEY)
    redactor.use(Lexicon())
    assert redactor.feed(KEY.encode()) == KEY.encode()


def test_redactor_overlapping_secrets_are_both_masked() -> None:
    lexicon = Lexicon(("abcdefghij", "ghijklmnop"))
    assert through([b"<abcdef", b"ghijkl", b"mnop>"], lexicon) == b"<" + b"*" * 16 + b">"


def test_lexicon_words_of_ours_are_masked() -> None:
    assert LEXICON.redact_text(f"no such key {KEY}") == "no such key " + "*" * len(KEY)
    assert Lexicon().redact_text("plain") == "plain"


@pytest.mark.parametrize("before", ["line\r\n\x1b[1;38;5;200m", "\x07\x1b]633;C;0123456789\x07"])
def test_redactor_control_character_beside_a_sequence_shifts_nothing(before: str) -> None:
    head = (before * 8).encode()
    coloured = b"".join(b"\x1b[31m%c" % letter for letter in KEY.encode())
    folded = "\r\n".join(KEY[at : at + 7] for at in range(0, len(KEY), 7)).encode()
    for secret in (coloured, folded):
        shown = through([head + secret + b"\r\n\x1b[0mend"])
        assert shown.startswith(head) and shown.endswith(b"\r\n\x1b[0mend")
        hidden = ESCAPES.sub(b"", shown[len(head) :]).replace(b"\r\n", b"")
        assert hidden == b"*" * len(KEY) + b"end"


@pytest.mark.parametrize("lone", [b"\x1b\x00", b"\x1b\x1b", b"\x1b\n", "\x1b[3é".encode()])
def test_redactor_escape_that_begins_no_sequence_shifts_nothing(lone: bytes) -> None:
    coloured = b"".join(b"\x1b[31m%c" % letter for letter in KEY.encode())
    shown = through([lone * 3 + coloured + b"end"])
    assert shown.startswith(lone * 3)
    assert ESCAPES.sub(b"", shown[len(lone) * 3 :]) == b"*" * len(KEY) + b"end"


@pytest.mark.parametrize("opening", ["\x1b[" + "1;" * 50, "\x1b]0;" + "t" * 99, "\x1bP" + "q" * 99])
def test_redactor_stream_cut_in_a_sequence_is_read_as_the_whole(opening: str) -> None:
    lexicon = Lexicon(("31mABCDEFGHIJ", "tABCDEFGH"))
    end = b"\x07" if opening[1] == "]" else b"\x1b\\" if opening[1] == "P" else b"m"
    data = b"x" + opening.encode() + b"31mABC" + end + b"DEFGH" + b"\x1b[0mIJ"
    for at in range(1, len(data)):
        redactor = Redactor(lexicon)
        shown = redactor.feed(data[:at]) + redactor.feed(data[at:]) + redactor.flush()
        assert shown == lexicon.redact(data)


def test_redactor_sequence_without_end_is_remembered_in_few_bytes() -> None:
    redactor = Redactor(LEXICON)
    for _ in range(100):
        assert redactor.feed(b"\x1b]0;" + b"~" * 5000) == b"\x1b]0;" + b"~" * 5000
    assert len(redactor._held) < 100
    assert not redactor.waiting
    shown = redactor.feed(b"\x07" + KEY.encode()) + redactor.flush()
    assert shown == b"\x07" + b"*" * len(KEY)


def test_redactor_lines_of_a_secret_run_together_are_masked_with_and_without_a_line_end() -> None:
    together = PEM.replace("\n", "").encode()
    assert through([together + b"\n"]) == b"*" * len(together) + b"\n"
    assert through([together]) == b"*" * len(together)


@pytest.mark.parametrize(
    "between",
    [
        "\x1b[3\n1m",
        "\x1b\x00[31m",
        "\x1b[3\x18",
        "\x1b]0;title\x18",
        "\x1bPq\x1a",
        "\x1b_G\x18",
        "\x9b31m",
        "\x9d0;title\x9c",
        "\u200b",
        "\u0301",
        "\u2060\ufeff",
        "\U000e0100",
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_redactor_secret_between_what_terminals_do_not_show_is_masked(
    between: str, size: int
) -> None:
    data = ("label: " + between.join(KEY) + " next\r\n").encode()
    shown = through([data[at : at + size] for at in range(0, len(data), size)])
    assert shown == ("label: " + between.join("*" * len(KEY)) + " next\r\n").encode()


@pytest.mark.parametrize(
    ("value", "data", "shown"),
    [
        ("31mABCDEFGHIJ", b"\x1b[31mABCDEFGHIJ next", b"\x1b[**m********** next"),
        ("[12345678m", b"\x1b[12345678m next", b"\x1b[********m next"),
        ("0ABCDEFGHIJ", b"\x1b(0ABCDEFGHIJ next", b"\x1b(0********** next"),
        ("[0m;12345678", b"\x1b[0m;12345678 next", b"\x1b[*m********* next"),
        ("\\ABCDEFGHIJ", b"\x1b]0;t\x1b\\ABCDEFGHIJ next", b"\x1b]0;t\x1b\\********** next"),
    ],
)
def test_redactor_mask_leaves_a_sequence_its_end(value: str, data: bytes, shown: bytes) -> None:
    assert through([data], Lexicon((value,))) == shown


def test_redactor_stream_cut_in_a_string_behind_half_a_character_is_read_as_the_whole() -> None:
    for opening in ("\x1b]0;é", "\x1bP1q" + "é" * 99, "\x1b[1;2", "ABC", "\x1b( "):
        data = (opening + "\x9c" + "\x9b31m".join(KEY) + "end").encode()
        for at in range(1, len(opening.encode()) + 2):
            assert through([data[:at], data[at:]]) == LEXICON.redact(data)


@pytest.mark.parametrize("before", ["", "x", "xx"])
def test_redactor_secret_begun_behind_wide_text_is_held_and_masked(before: str) -> None:
    redactor = Redactor(LEXICON)
    text = (before + "字" * 200).encode()
    assert redactor.feed(text + b"\x1b[m" + b"\x1b[m".join(map(str.encode, KEY[:12]))).startswith(
        text
    )
    assert redactor.feed(KEY[12:].encode() + b"!").endswith(b"*" * (len(KEY) - 12) + b"!")


@pytest.mark.parametrize("cut", range(0, 40, 3))
def test_binary_pieces_are_masked_where_the_secret_stands_byte_for_byte(cut: int) -> None:
    data = b"\0\x1b[" + b"x" * 9 + b"correct-horse-battery" + b"\0\xff\b\r"
    redactor = Redactor(Lexicon(["correct-horse-battery"]), binary=True)
    out = redactor.feed(data[:cut]) + redactor.feed(data[cut:]) + redactor.flush()
    assert out == data.replace(b"correct-horse-battery", b"*" * 21)


def test_text_of_a_binary_stream_is_masked_as_text() -> None:
    redactor = Redactor(Lexicon(["correct-horse-battery"]), binary=True)
    coloured = b"correct-\x1b[1mhorse-\x1b[0mbattery"
    out = redactor.feed(b"\0") + redactor.feed(coloured) + redactor.flush()
    assert b"horse" not in out
