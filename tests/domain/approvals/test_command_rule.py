"""Commands that need an approval, and commands that `sudo` takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.approvals.command_rule import asks_for, showable, sudo_allows

RULES = (("git", "push"), ("terraform", "apply"), ("npm", "publish"), ("halt",))


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("git push", True),
        ("git push --force origin main", True),
        ("/usr/bin/git push", True),
        ("git -C dir push", True),
        ("git -c a=b --no-pager push", True),
        ("git --git-dir=x push", True),
        ("git status push", False),
        ("git commit -m push", False),
        ("git -C push", True),  # read either way: one time too often
        ("git", False),
        ("gitpush", False),
        ("halt now", True),
        ("npm run publish", False),
    ],
)
def test_command_is_covered_by_how_it_begins(line: str, asks: bool) -> None:
    assert asks_for(RULES, line.split()) is asks


def test_command_without_words_asks_nothing() -> None:
    assert not asks_for(RULES, ())


def test_endless_options_are_judged_at_once() -> None:
    assert not asks_for(RULES, ["git", *["-x"] * 100_000])


@given(st.lists(st.sampled_from(["git", "push", "-C", "x", "--", ""]), max_size=12))
def test_sudo_takes_nothing_but_the_very_words(words: list[str]) -> None:
    rules = (("git", "push"),)
    assert sudo_allows(rules, words) is (words == ["git", "push"])


@pytest.mark.parametrize(
    "word", ["a\u202eb", "\u200b", "\udcff", "x" * 2000, "\u2066a", "\ufeff", "\u2028"]
)
def test_word_that_cannot_be_shown_as_it_is_is_named(word: str) -> None:
    assert showable(["echo", word], "/workspace")
    assert showable(["echo"], f"/{word}")


def test_usual_words_can_be_shown() -> None:
    assert showable(["printf", "%s\\n", "ä", "a b", ""], "/workspace") is None


def test_sudo_takes_a_command_word_for_word() -> None:
    assert sudo_allows((["git", "push"],), ("git", "push"))
    assert not sudo_allows((["git", "push"],), ("git", "push", "-f"))
