"""Secrets of Atoll's own, which nobody names."""

import re

import pytest

from atoll.domain.people.token import spell_token
from atoll.domain.redaction.detector import Detector
from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.redactor import Redactor
from atoll.domain.redaction.shapes import SHAPES, beginning, find_shapes
from atoll.domain.webhooks.signature import spelled_secret

TOKEN = spell_token(bytes(range(100, 132))).encode()
KEY = spelled_secret(bytes(range(200, 232))).encode()
NAMED = "hunter2-hunter2"


@pytest.mark.parametrize("secret", [TOKEN, KEY], ids=["token", "key"])
@pytest.mark.parametrize("values", [(), (NAMED,)], ids=["nothing named", "a secret named"])
def test_secret_is_masked_wherever_the_output_is_cut(
    secret: bytes, values: tuple[str, ...]
) -> None:
    whole = b"export T=" + secret + b"; done\r\n"
    masked = b"export T=" + b"*" * len(secret) + b"; done\r\n"
    assert Lexicon(values).redact(whole) == masked
    for cut in range(len(whole)):
        stream = Redactor(Lexicon(values))
        assert stream.feed(whole[:cut]) + stream.feed(whole[cut:]) + stream.flush() == masked
    stream = Redactor(Lexicon(values))
    assert b"".join(stream.feed(bytes([one])) for one in whole) + stream.flush() == masked


@pytest.mark.parametrize(
    "plain",
    [
        b"atoll_pat_",
        TOKEN[:-1] + b" ",
        b"grep atoll_pat_ src\r\n",
        b"atoll_pat_0Q4v\xe2\x80\xa6",
        KEY[:-1] + b"\n",
        b"whsec_C2FV",
    ],
)
def test_what_only_looks_like_one_passes(plain: bytes) -> None:
    stream = Redactor(Lexicon())
    assert stream.feed(plain) + stream.flush() == plain
    assert Lexicon().redact(plain) == plain


def test_named_secret_and_a_token_are_both_masked() -> None:
    text = f"{NAMED} {TOKEN.decode()} {NAMED}"
    assert re.fullmatch(r"\*+ \*+ \*+", Lexicon([NAMED]).redact_text(text))


def test_shape_is_as_long_as_what_is_made() -> None:
    assert [shape.size for shape in SHAPES] == [len(TOKEN), len(KEY)]
    assert find_shapes(b"x" + TOKEN + TOKEN) == ([(1, 60), (60, 119)], 119)
    assert beginning(b"atoll", b"x-at") == 2 and beginning(b"atoll", b"x") == 0


def test_files_with_a_token_are_handed_out() -> None:
    detector = Detector(Lexicon())
    assert not detector.feed(TOKEN)
    assert not Detector(Lexicon([NAMED])).feed(TOKEN)
