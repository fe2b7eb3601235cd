"""A value that a program folded is masked in every row, and its margins stay."""

import base64
from collections.abc import Callable

import pytest

from atoll.domain.redaction.forms import LONG_VALUE, broken_forms
from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.margins import LONGEST, Folds, folded_ends, margin_ends
from atoll.domain.redaction.redactor import Redactor
from atoll.domain.redaction.texts import Texts

VALUE = "sk-canary-Zq81xLw03Mvb77TtNe"
LEXICON = Lexicon([VALUE])
TEXT = VALUE.encode()


def rows(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def folded(before: str, behind: str = "", size: int = 12) -> bytes:
    return "".join(f"{before}{row}{behind}\r\n" for row in rows(VALUE, size)).encode()


def dumped(data: bytes, digits: Callable[[bytes], str], *, size: int = 16) -> bytes:
    """The rows of `hexdump -C` or of `xxd`: an offset, digits, the text beside them."""
    out = ""
    for at in range(0, len(data), size):
        row = data[at : at + size]
        out += f"{at:08x}{digits(row)}\r\n"
    return out.encode()


def canonical(row: bytes) -> str:
    halves = f"{row[:8].hex(' ')}  {row[8:].hex(' ')}"
    return f"  {halves:<48}  |{row.decode()}|"


def paired(row: bytes) -> str:
    return f": {row.hex(' ', -2):<39}  {row.decode()}"


def remains(data: bytes, lexicon: Lexicon = LEXICON) -> bytes:
    """What is left in each row, without the stars."""
    return lexicon.redact(data).replace(b"*", b"")


BORDERS = [
    ("| ", " |"),
    ("> ", ""),
    ("+", ""),
    ('    "', '",'),
    ("\u2502 ", " \u2502"),
    ("  12  ", ""),
    ("12: ", ""),
    ("00000012 ", ""),
]
DUMPS = [dumped(b"TOKEN=" + TEXT + b"..", each) for each in (canonical, paired)]


@pytest.mark.parametrize(("before", "behind"), BORDERS)
@pytest.mark.parametrize("size", [8, 12, 20])
def test_margins_of_a_folded_value_are_all_that_stays(before: str, behind: str, size: int) -> None:
    out = folded(before, behind, size)
    borders = f"{before}{behind}\r\n".encode() * len(rows(VALUE, size))
    assert remains(out) == borders


@pytest.mark.parametrize("size", [1, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("border", ["| ", "\u2502 ", "12  ", "> "])
def test_margins_after_a_few_characters_hide_neither_part(size: int, border: str) -> None:
    parts = (VALUE[:size], VALUE[size:20], VALUE[20:])
    assert remains(f"\r\n{border}".join(("x=", *parts, "end")).encode()) == (
        f"\r\n{border}".join(("x=", "", "", "", "end")).encode()
    )


@pytest.mark.parametrize(("data", "stars"), [(DUMPS[0], (40, 66, 7)), (DUMPS[1], (35, 57, 6))])
def test_margins_of_a_dump_are_all_that_stays(data: bytes, stars: tuple[int, ...]) -> None:
    lines = LEXICON.redact(data).splitlines()
    assert tuple(line.count(b"*") for line in lines) == stars
    assert [line[:8] for line in lines] == [b"00000000", b"00000010", b"00000020"]
    assert (b"TOKEN=" in lines[0], b".." in lines[2]) == (True, True)


NUMBERED = ["12  ", "12: ", "  12 ", "12 | ", "12: - "]


@pytest.mark.parametrize("border", ["| ", "\u2502 ", "> ", "+", *NUMBERED])
@pytest.mark.parametrize("value", [VALUE, "abcdefgh-ijklmnop-1734-wxyz"])
@pytest.mark.parametrize("behind", ["", " and text"])
def test_margin_that_is_the_only_one_hides_neither_part(
    border: str, value: str, behind: str
) -> None:
    lexicon = Lexicon([value])
    for size in range(1, len(value)):
        rows = f"{border}{value[:size]}\r\n{border}{value[size:]}{behind}\r\n"
        left = remains(rows.encode(), lexicon)
        assert left == f"{border}\r\n{border}{behind}\r\n".encode(), size


def bare(row: bytes) -> str:
    """The digits of `od -A x -t x1`, whose offsets have one digit more here."""
    return f" {row.hex(' ')}"


EVERY_DUMP = [canonical, paired, bare]


@pytest.mark.parametrize("digits", EVERY_DUMP)
@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize("before", range(17))
def test_margins_of_a_dump_hide_a_value_wherever_it_begins(
    digits: Callable[[bytes], str], size: int, before: int
) -> None:
    """What differs in the dump of another value is the value's."""
    begin, end = b"Q" * before, b"zz and more"
    data, other = (
        dumped(begin + value + end, digits, size=size)
        for value in (TEXT, bytes(each ^ 0x1F for each in TEXT))
    )
    shown = LEXICON.redact(data)
    assert not [n for n in range(len(data)) if data[n] != other[n] and shown[n : n + 1] != b"*"]


@pytest.mark.parametrize("digits", EVERY_DUMP)
@pytest.mark.parametrize("before", [6, 15])
def test_margins_of_a_dump_that_is_cut_anywhere_hide_as_in_the_whole(
    digits: Callable[[bytes], str], before: int
) -> None:
    data = dumped(b"Q" * before + TEXT + b"zz and more", digits)
    for cut in range(len(data)):
        stream = Redactor(LEXICON)
        out = stream.feed(data[:cut]) + stream.feed(data[cut:]) + stream.flush()
        assert out == LEXICON.redact(data), cut


def test_beginning_before_a_dumps_offset_waits_for_one_tick() -> None:
    stream = Redactor(LEXICON)
    row = dumped(b"Q" * 15 + b"s", canonical) + b"00000010"
    assert len(stream.feed(row)) == len(row) - len(b"73  |QQQQQQQQQQQQQQQs|\r\n00000010")
    assert stream.waiting and stream.tick()
    assert stream.flush() == b""


@pytest.mark.parametrize("border", BORDERS)
def test_margins_in_a_cut_stream_hide_as_in_the_whole(border: tuple[str, str]) -> None:
    data = b"$ show\r\n" + folded(*border) + b"ordinary words behind it, of no interest\r\n"
    for cut in range(len(data)):
        stream = Redactor(LEXICON)
        out = stream.feed(data[:cut]) + stream.feed(data[cut:]) + stream.flush()
        assert out == LEXICON.redact(data), cut


@pytest.mark.parametrize("data", DUMPS, ids=["hexdump", "xxd"])
def test_margins_of_a_dump_that_comes_row_by_row_hide_as_in_the_whole(data: bytes) -> None:
    stream = Redactor(LEXICON)
    out = b"".join(stream.feed(row) for row in data.splitlines(keepends=True)) + stream.flush()
    assert out == LEXICON.redact(data)


@pytest.mark.parametrize(
    "between",
    [
        " |",
        "\r\n, and ",
        "\r\n" + " " * (LONGEST + 1),
        "\r\n7",
        "\r\n| x",
        " | \x1b[1m",
    ],
)
def test_margins_are_not_other_texts_nor_in_the_same_row(between: str) -> None:
    data = f"{VALUE[:12]}{between}{VALUE[12:]}".encode()
    assert LEXICON.redact(data) == data


@pytest.mark.parametrize("between", [" " * (LONGEST - 1), "7 ", "\u2500" * 50, "|" * LONGEST])
def test_margins_up_to_the_longest_are_passed(between: str) -> None:
    data = f"{VALUE[:12]}\r\n{between}{VALUE[12:]}".encode()
    assert remains(data) == f"\r\n{between}".encode()


def test_margins_that_begin_as_the_value_goes_on_are_told_by_what_follows() -> None:
    assert remains(b"| sk-canary-\r\n| -Zq81xLw03Mvb77TtNe") == b"| \r\n| -"
    other = Lexicon(["canary-canary |-|- canary"])
    assert remains(b"canary-canary |\r\n|-|- canary", other) == b"\r\n"


@pytest.mark.parametrize(
    ("data", "ends"),
    [
        (b"", ()),
        (b"x| ", ()),
        (b"12x", ()),
        (b"| x", (2, 1)),
        (b"12 x", (3, 2)),
        (b"12: -x", (5, 4, 3, 2)),
        (b"|12| x", (1, 2, 5, 4, 3)),
        (b"\xe2\x94\x82 x", (4, 3, 2, 1)),
        (b"  |abc|00000010  x", (3, 2, 1, 17, 16, 15)),
        (b"abcdef12  00 11 x", (10, 9, 8, 16, 15)),
        (b" " * 999, tuple(range(LONGEST, LONGEST - 9, -1))),
    ],
)
def test_margins_end_behind_borders_numbers_and_offsets(data: bytes, ends: tuple[int, ...]) -> None:
    assert tuple(dict.fromkeys(margin_ends(data, 0))) == tuple(dict.fromkeys(ends))


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"abcdefgh | ijkl", [([(0, 8), (11, 15)], True)]),
        (b"abcdefgh | ij", [([(0, 8), (11, 13)], False)]),
        (b"abcdefgh | ij > kl", [([(0, 8), (11, 13), (16, 18)], True)]),
        (b"abcdefgh | ij|", [([(0, 8), (11, 13)], False)]),
        (b"abcdefgh | ix", []),
        (b"abcdefgh | other", []),
        (b"abcdefgh | ", [([(0, 8)], False)]),
        (b"abcdefgh|", [([(0, 8)], False)]),
        (b"abcdef", [([(0, 6)], False)]),
    ],
)
def test_folds_find_the_pieces_and_whether_the_end_cuts_them(
    data: bytes, found: list[tuple[list[tuple[int, int]], bool]]
) -> None:
    unique: list[tuple[list[tuple[int, int]], bool]] = []
    for pieces, whole in Folds(data).find(0, Texts([b"abcdefghijkl"]), min(8, len(data))):
        each = ([(begin, end) for begin, end in pieces if begin < end], whole)
        if each not in unique:
            unique.append(each)
    assert unique == found


def test_folds_find_the_one_of_several_texts_that_goes_on() -> None:
    texts = Texts([b"abcdefghijkl", b"abcdefghimno", b"abcdefghxyz"])
    assert (((0, 8), (11, 15)), True) in list(Folds(b"abcdefgh | imno").find(0, texts, 8))
    assert list(Folds(b"abcdefgh | izzz").find(0, texts, 8)) == []


def test_folds_find_what_precedes_a_margin() -> None:
    folds = Folds(b"xx abc | defghijk")
    assert [folds.begun_before(9, b"abc") for _ in range(2)] == [(3, 6), (3, 6)]
    assert Folds(b"00 73000010 6b 2d").begun_before(12, b"73 ") == (3, 5)
    assert folds.begun_before(9, b"zzz") is None
    assert folds.begun_before(6, b"abc") is None
    assert folds.may_end(9) and not folds.may_end(10)
    repeated = Folds(b"a|" * 9 + b"xx | rest")
    assert repeated.begun_before(23, b"a") is None


def test_folded_ends_take_borders_and_dumps_from_the_end() -> None:
    assert (3, b"") in list(folded_ends(b"abc | ", 7))
    assert (3, b"d") in list(folded_ends(b"abc | d", 7))
    assert (3, b"") in list(folded_ends(b"abc \xe2\x94\x82 ", 7))
    row = b"00000000  73  |" + b"x" * 64 + b"|0000"
    assert (12, b"") in list(folded_ends(row, 2))
    assert (12, b" ") in list(folded_ends(row + b"0010 ", 2))
    assert (10, b" 6") in list(folded_ends(b"0000000 73" + b"  |s|" + b"0000001 6", 2))
    assert (9, b" 6b") in list(folded_ends(b"000000 73000010 6b", 3))
    assert (9, b"") in list(folded_ends(b"000000 730", 3))
    assert {end for end, _ in folded_ends(b"000000 73000010", 0)} >= {8, 9}
    assert list(folded_ends(b"abc", 7)) == []


def test_broken_forms_of_a_long_value_are_none() -> None:
    assert not list(broken_forms("k" * (LONG_VALUE + 1)))
    assert (TEXT, 7) in set(broken_forms(VALUE))
    assert (base64.b64encode(TEXT)[:37], 4) in set(broken_forms(VALUE))
