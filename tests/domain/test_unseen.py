import pytest

from atoll.domain.unseen import code_of, is_unseen, replace_unseen, spell_unseen

TURNED = "fix/\u202egpj.exe"
HIDDEN = ("\x00", "\x1b", "\x7f", "\x9b", "\xad", "\u200b", "\u202e", "\u2028", "\u2066", "\ufeff")
BLANK = ("\u034f", "\u115f", "\u2800", "\u3164", "\uffa0")
OTHERS = ("\ud800", "\ue000", "\U000e0041", "\U0010ffff")


@pytest.mark.parametrize("char", [*HIDDEN, *BLANK, *OTHERS])
def test_invisible_character_is_spelled_and_replaced(char: str) -> None:
    assert is_unseen(char)
    assert spell_unseen(f"a{char}b") == f"a{code_of(char)}b"
    assert spell_unseen(f"a{char}b").isascii()
    assert replace_unseen(f"a{char}b", 9) == "a?b"


def test_what_is_seen_stays_as_it_is() -> None:
    text = "fix/größe 日本 e\u0301 👩 `$(x)` \\u202e"
    assert spell_unseen(text) == text
    assert replace_unseen(text, 100) == text


def test_name_that_turns_the_reading_direction_says_so() -> None:
    assert spell_unseen(TURNED) == "fix/\\u202egpj.exe"
    assert replace_unseen(TURNED, 100) == "fix/?gpj.exe"


def test_only_what_may_stay_is_not_spelled() -> None:
    assert spell_unseen("a\tb\n\x1b[2J\r", keep="\n\t") == "a\tb\n\\x1b[2J\\x0d"
    assert spell_unseen("a\tb\n") == "a\\x09b\\x0a"


def test_replaced_text_is_no_longer_than_asked() -> None:
    assert replace_unseen("\x1b" * 300, 200) == "?" * 200
    assert replace_unseen("", 5) == ""
