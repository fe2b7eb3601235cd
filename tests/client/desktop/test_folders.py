from pathlib import Path

import pytest

from atoll.client.desktop.calls import HostedLease
from atoll.client.desktop.folders import WorkerFolder, list_worker_folders
from atoll.domain.errors import Failed

LEASE = HostedLease("w", 3, "atw_secret", reattachable=False)


def test_lease_outlives_the_program_and_is_its_persons_alone(tmp_path: Path) -> None:
    folder = WorkerFolder(tmp_path, "w")
    assert folder.lease() is None
    folder.make()
    folder.keep(LEASE)
    (again,) = list_worker_folders(tmp_path)
    assert again.lease() == LEASE
    assert "atw_secret" not in repr(LEASE)
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.place.iterdir()}
    assert modes == {"workspace": 0o700, "journal": 0o700, "home": 0o700, "lease.json": 0o600}
    folder.remove()
    assert list_worker_folders(tmp_path) == []
    folder.remove()


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "/etc", ".hidden", "a\n", "x" * 65])
def test_id_that_would_be_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Failed):
        WorkerFolder(tmp_path, name)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"epoch":1}', '{"epoch":"x","token":1}', "7"])
def test_lease_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    folder = WorkerFolder(tmp_path, "w")
    folder.make()
    (folder.place / "lease.json").write_text(text)
    assert folder.lease() is None
