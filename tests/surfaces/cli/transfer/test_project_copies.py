"""Files that a project file wants: only regular ones below the checkout, and no secret."""

import os
from pathlib import Path

import pytest

from atoll.domain.errors import Invalid
from atoll.surfaces.cli.transfer.project_copies import MAX_BYTES, find_copies, read_copy


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "key").write_text("secret")
    folder = tmp_path / "work"
    (folder / "config").mkdir(parents=True)
    (folder / "config" / "dev.json").write_text("{}")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / ".env").write_text("API_TOKEN=x\n")
    (folder / "link").symlink_to(tmp_path / "outside" / "key")
    (folder / "inner").symlink_to(folder / "config")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize(
    "path",
    [
        *("../outside/key", "config/../../outside/key", "/etc/hostname", "link", "inner/dev.json"),
        *(".git/config", ".GIT/config", "pipe", "config", "absent", "config//dev.json", ".", ""),
        *("config/dev.json/x", "a\0b"),
    ],
)
def test_path_that_is_no_regular_file_below_the_checkout_is_refused(
    checkout: Path, path: str
) -> None:
    with pytest.raises(Invalid):
        read_copy(checkout, path)


def test_file_is_read_with_whether_it_may_run(checkout: Path) -> None:
    assert read_copy(checkout, "config/dev.json").data == b"{}"
    assert read_copy(checkout, "config/dev.json").mode == 0o644
    assert read_copy(checkout, "run.sh").mode == 0o755


def test_large_file_is_refused(checkout: Path) -> None:
    with (checkout / "large").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(Invalid, match="larger"):
        read_copy(checkout, "large")


def test_secret_stays_and_the_rest_goes(checkout: Path) -> None:
    found = find_copies(checkout, [".env", "config/dev.json", "link"])
    assert [one.path for one in found.sent] == ["config/dev.json"]
    assert [(one.path, why) for one, why in found.secret] == [(".env", "it sets API_TOKEN")]
    assert [path for path, _ in found.refused] == ["link"]


def test_files_together_are_bounded(checkout: Path) -> None:
    for number in range(4):
        with (checkout / f"large{number}").open("wb") as file:
            file.truncate(MAX_BYTES)
    found = find_copies(checkout, [f"large{number}" for number in range(4)])
    assert len(found.sent) == 3 and len(found.refused) == 1
