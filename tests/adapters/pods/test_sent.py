"""Mounts that are sent: the same bytes for the same content, and nothing from beside it."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from atoll.adapters.pods.sent import SentMount, pack_mount
from atoll.domain.errors import Failed
from atoll.ports.extension import Mount


def layer(place: Path) -> Path:
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "tool").write_text("#!/bin/sh\n")
    (place / "bin" / "tool").chmod(0o755)
    (place / "readme").write_text("text")
    (place / "out").symlink_to("/etc")
    (place / "away").symlink_to("/etc/passwd")
    os.mkfifo(place / "pipe")
    return place


def packed(place: Path, *, live: bool = False) -> tuple[SentMount, bytes]:
    into = io.BytesIO()
    return pack_mount(Mount(str(place), "/opt/atoll/x", live), into), into.getvalue()


def test_same_content_is_sent_as_the_same_bytes(tmp_path: Path) -> None:
    first, data = packed(layer(tmp_path / "one"))
    os.utime(layer(tmp_path / "two") / "readme", (1, 1))
    second, again = packed(tmp_path / "two")
    assert (first, data) == (second, again)
    assert (first.kind, first.size) == ("layer", len(data))
    (tmp_path / "two" / "readme").write_text("tex2")
    assert packed(tmp_path / "two")[0].digest != first.digest


def test_links_are_sent_as_links_and_pipes_not_at_all(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(layer(tmp_path / "one"))[1])) as tar:
        found = {one.name: one for one in tar.getmembers()}
    assert sorted(found) == ["away", "bin", "bin/tool", "out", "readme"]
    assert found["out"].issym() and found["away"].linkname == "/etc/passwd"
    assert (found["bin/tool"].mode, found["readme"].mode) == (0o755, 0o644)
    assert {(one.uid, one.uname, one.mtime) for one in found.values()} == {(0, "", 0)}


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert packed(tmp_path / "file")[0].kind == "files"
    assert packed(tmp_path, live=True)[0].kind == "repository"


def test_mount_that_is_absent_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="cannot be sent"):
        packed(tmp_path / "absent")
    (tmp_path / "big").write_bytes(b"x" * 20_000)
    with pytest.raises(Failed, match="larger than"):
        pack_mount(Mount(str(tmp_path), "/x"), io.BytesIO(), max_bytes=10_000)
