import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.sandboxes import naming
from atoll.domain.sandboxes.naming import (
    MAX_NAME,
    default_name,
    free_name,
    read_name,
    speakable_name,
    to_allowed_name,
)


@pytest.mark.parametrize("name", ["a", "repo-fix", "a.b_c-d", "0" * 63])
def test_name_that_fits_is_taken(name: str) -> None:
    assert read_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "A", "a b", "a/b", "é", "a\n", "0" * 64, "sb_" + "a" * 16, "..", "a\0"]
)
def test_name_that_does_not_fit_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as err:
        read_name(name)
    assert err.value.field == "name"


def test_default_name_follows_repository_or_profile() -> None:
    known = default_name(repo="My.Repo", branch="fix/It", profile_id="profile.x", token="abc")
    assert known == "my.repo-fix-it"
    assert default_name(repo=None, branch=None, profile_id="profile.x", token="abc") == "x-abc"


@given(st.text())
def test_bent_text_always_fits(text: str) -> None:
    assert read_name(to_allowed_name(text))


@given(st.text(alphabet="abc", min_size=1, max_size=63), st.integers(0, 12))
def test_free_name_is_free_and_fits(wanted: str, rivals: int) -> None:
    taken: set[str] = set()
    for _ in range(rivals):
        name = free_name(wanted, taken)
        assert name not in taken
        assert read_name(name)
        taken.add(name)


def test_free_name_counts_on_until_one_is_free() -> None:
    assert free_name("box", {"box", "box-2", "box-3"}) == "box-4"


def test_spoken_name_is_two_words_after_its_base_and_free() -> None:
    first = speakable_name("app", "abcdef", ())
    assert read_name(first) == first and first.startswith("app-") and first.count("-") == 2
    second = speakable_name("app", "abcdef", {first})
    assert second != first
    assert len(read_name(speakable_name("x" * 100, "abcdef", ()))) <= MAX_NAME


def test_words_of_names_look_unlike_each_other() -> None:
    words = [*naming._QUALITIES, *naming._ANIMALS]
    assert len({word[:3] for word in words}) == len(words) == 64
    assert max(map(len, words)) <= naming.MAX_WORD


def test_spoken_name_counts_on_when_all_pairs_are_taken() -> None:
    taken = {f"app-{one}-{two}" for one in naming._QUALITIES for two in naming._ANIMALS}
    assert speakable_name("app", "abcdef", taken) == "app-abcdef"
