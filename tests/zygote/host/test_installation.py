"""The identity of an installation: one for each home, whatever its path."""

import shutil
from pathlib import Path

import pytest

from atoll.zygote.host.home import Home
from atoll.zygote.host.installation import FILE, PREFIX_LENGTH, keep_installation, read_installation


def home_at(place: Path) -> Path:
    (place / "boxes").mkdir(parents=True)
    return place


def test_homes_of_one_path_are_different_installations(tmp_path: Path) -> None:
    """As on two machines, or in two containers."""
    found = []
    for other in ("first", "second"):
        home = home_at(tmp_path / "home")
        keep_installation(home, used=False)
        found.append(read_installation(home))
        home.rename(tmp_path / other)
    first, second = found
    assert first.id != second.id and first.tag != second.tag
    assert first.tag[:PREFIX_LENGTH] == second.tag[:PREFIX_LENGTH]


def test_identity_stays_over_starts_and_a_move(tmp_path: Path) -> None:
    home = home_at(tmp_path / "home")
    keep_installation(home, used=False)
    made = read_installation(home)
    keep_installation(home, used=True)
    moved = home.rename(tmp_path / "elsewhere")
    keep_installation(moved, used=True)
    assert read_installation(moved) == made
    assert Home(moved).tag == made.tag


def test_home_of_an_older_version_keeps_the_name_by_which_its_sandboxes_are_found(
    tmp_path: Path,
) -> None:
    home = home_at(tmp_path / "home")
    before = Home(home).tag
    keep_installation(home, used=True)
    assert Home(home).tag == before
    assert read_installation(home).id != read_installation(tmp_path / "nothing").id


def test_copy_beside_its_original_is_an_installation_of_its_own(tmp_path: Path) -> None:
    home = home_at(tmp_path / "home")
    keep_installation(home, used=False)
    made = read_installation(home)
    copy = Path(shutil.copytree(home, tmp_path / "copy"))
    keep_installation(copy, used=True)
    keep_installation(home, used=True)
    own = read_installation(copy)
    assert (own.id != made.id, own.tag != made.tag) == (True, True)
    assert read_installation(home) == made
    keep_installation(copy, used=True)
    assert read_installation(copy) == own


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"id": "1", "tag": "atoll-0123456789", "home": "/h"}',
        '{"id": "' + "0" * 32 + '", "tag": "atoll-../../../", "home": "/h"}',
    ],
)
def test_file_that_says_something_else_names_nothing(tmp_path: Path, text: str) -> None:
    home = home_at(tmp_path / "home")
    plain = read_installation(home)
    (home / FILE).write_text(text)
    assert read_installation(home) == plain


def test_link_is_not_followed(tmp_path: Path) -> None:
    other, home = home_at(tmp_path / "other"), home_at(tmp_path / "home")
    keep_installation(other, used=False)
    (home / FILE).symlink_to(other / FILE)
    assert read_installation(home).id != read_installation(other).id


def test_first_of_two_that_make_it_at_once_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_at(tmp_path / "home")
    keep_installation(home, used=False)
    made = read_installation(home)
    monkeypatch.setattr("atoll.zygote.host.installation._read", lambda _home: None)
    keep_installation(home, used=False)
    monkeypatch.undo()
    assert read_installation(home) == made
    assert [each.name for each in (home / "boxes").iterdir()] == ["installation.json"]
