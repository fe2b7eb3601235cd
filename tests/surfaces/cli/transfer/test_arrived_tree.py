"""Places of a person's own tree where something from a sandbox would make a repository."""

from pathlib import Path

import pytest

from atoll.domain.errors import Invalid
from atoll.surfaces.cli.transfer.arrived_tree import refuse_within_repository


def lay(top: Path, *paths: str) -> None:
    for path in paths:
        place = top / path
        (place if path.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        if not path.endswith("/"):
            place.touch()


@pytest.mark.parametrize(
    ("there", "target"),
    [
        (("x/objects/", "x/refs/"), "x/HEAD"),
        (("x/objects/", "x/refs/"), "x/head"),
        (("x/HEAD", "x/refs/"), "x/objects"),
        (("x/HEAD",), "x/commondir"),
        (("x/HEAD", "x/objects/", "x/refs/"), "x/config"),
        (("x/HEAD", "x/objects/", "x/refs/hooks/"), "x/refs/hooks/deep"),
        (("x/.git/hooks/",), "x/.git/hooks/post-checkout"),
        (("x/",), "x/.git"),
        (("x/",), "x/GIT~1"),
    ],
)
def test_entry_of_a_repository_is_refused(
    tmp_path: Path, there: tuple[str, ...], target: str
) -> None:
    lay(tmp_path, *there)
    with pytest.raises(Invalid, match="git repository"):
        refuse_within_repository(tmp_path / target)


@pytest.mark.parametrize(
    ("there", "target"),
    [
        (("x/objects/", "x/refs/"), "x/notes"),
        (("x/",), "x/HEAD"),
        # A work tree within a bare repository, or within a folder of work trees.
        (("x/HEAD", "x/objects/", "x/refs/", "x/main/.git"), "x/main/notes"),
        (("x/HEAD", "x/objects/", "x/refs/", "x/main/.git"), "x/main"),
        (("x/.git/HEAD", "x/sub/"), "x/sub/notes"),
    ],
)
def test_entry_of_no_repository_passes(tmp_path: Path, there: tuple[str, ...], target: str) -> None:
    lay(tmp_path, *there)
    refuse_within_repository(tmp_path / target)


def test_link_on_the_way_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    lay(tmp_path, "bare/objects/", "bare/refs/")
    (tmp_path / "link").symlink_to("bare")
    with pytest.raises(Invalid, match="git repository"):
        refuse_within_repository(tmp_path / "link" / "HEAD")
