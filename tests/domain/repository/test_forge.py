import pytest

from atoll.domain.errors import Invalid
from atoll.domain.repository.forge import (
    ForgeRepository,
    NewPull,
    check_new_pull,
    fork_of,
    is_site,
    plain_line,
    plain_text,
    repository_at,
)
from atoll.wire.words.forges import MAX_TEXT, MAX_TITLE, ForgeKind

NEW = NewPull("fix", "main", "Fix it")
HUB = ForgeRepository(ForgeKind.GITHUB, "https://github.com", "o", "r", "t0ken")


@pytest.mark.parametrize(
    ("kind", "site", "api", "url"),
    [
        (ForgeKind.GITHUB, "https://github.com", "https://api.github.com",
         "https://github.com/o/r/pull/7"),
        (ForgeKind.GITHUB, "https://ghe.example", "https://ghe.example/api/v3",
         "https://ghe.example/o/r/pull/7"),
        (ForgeKind.GITEA, "https://git.example:3000/tea", "https://git.example:3000/tea/api/v1",
         "https://git.example:3000/tea/o/r/pulls/7"),
    ],
)  # fmt: skip
def test_addresses_are_made_from_the_site(kind: ForgeKind, site: str, api: str, url: str) -> None:
    found = repository_at(kind, site, f"{site}/o/r")
    assert found is not None
    assert (found.api, found.path, found.pull_url(7)) == (api, "/repos/o/r", url)


@pytest.mark.parametrize(
    "repo_url",
    ["", "https://github.com/o", "https://github.com/o/r/x", "https://github.com//r",
     "https://github.com.evil/o/r", "https://github.com/o/"],
)  # fmt: skip
def test_repository_elsewhere_is_none_of_the_forge(repo_url: str) -> None:
    assert repository_at(ForgeKind.GITHUB, "https://github.com", repo_url) is None


def test_branch_of_a_fork_names_its_repository() -> None:
    assert fork_of(HUB, "O/R") == ""
    assert fork_of(HUB, "eve/r\x1b[2J") == plain_line("eve/r\x1b[2J")
    assert fork_of(HUB, None) == "a repository that is gone"


def test_token_is_in_no_text() -> None:
    assert "t0ken" not in repr(HUB)


@pytest.mark.parametrize(
    "text",
    ["https://-", "https://a:443", "https://a/", "https://a?x", "https://A.example", "ftp://a"],
)
def test_anything_but_a_canonical_https_address_is_no_site(text: str) -> None:
    assert not is_site(text)


@pytest.mark.parametrize(
    ("new", "field"),
    [
        (NewPull("fix", "main", " "), "title"),
        (NewPull("fix", "main", "a\nb"), "title"),
        (NewPull("fix", "main", "a" * (MAX_TITLE + 1)), "title"),
        (NewPull("fix", "main", "a", "a" * (MAX_TEXT + 1)), "text"),
        (NewPull("fix", "fix", "a"), "base"),
    ],
)
def test_pull_request_that_no_forge_takes_is_refused(new: NewPull, field: str) -> None:
    assert check_new_pull(NEW) is NEW
    with pytest.raises(Invalid) as caught:
        check_new_pull(new)
    assert caught.value.field == field


def test_what_others_wrote_becomes_bounded_plain_text() -> None:
    assert plain_line("a\u202eb\x1b[2J\nc") == "a b [2J c"
    assert len(plain_line("a" * 999)) == MAX_TITLE
    assert plain_text("a\n\tb\x07") == "a\n\tb "
    assert plain_text("a" * (MAX_TEXT + 1)) == "a" * MAX_TEXT + "…"
