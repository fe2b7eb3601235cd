"""Snapshots of a sandbox in which git collects and SQLite commits meanwhile: what comes back is
whole, as its backend promises."""

import os
from collections.abc import Iterator

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.wire.zygote.snapshots import DropSnapshot, KeepSnapshot, SnapshotDropped, SnapshotKept
from tests.claims import claim_person

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
SMALL = wire.Limits(workspace_bytes=64 * 2**20)
ROUNDS = 4
GIT = """
git init -q /workspace/repo && cd /workspace/repo &&
git config user.name a && git config user.email a@b && git config gc.auto 0 || exit
n=0
while :; do
    n=$((n+1)); head -c 20000 /dev/urandom > file$((n%9)); git add . && git commit -qm $n || exit
    git gc -q --prune=now || exit
    echo $n > /workspace/.collected
done
"""
SQLITE = """
import pathlib, sqlite3
link = sqlite3.connect("/workspace/data.db", isolation_level=None)
link.execute("PRAGMA journal_mode=MODE")
link.execute("CREATE TABLE pairs (n INTEGER, other INTEGER, text TEXT)")
n = 0
while True:
    n += 1
    link.execute("BEGIN")
    link.execute("INSERT INTO pairs VALUES (?, ?, ?)", (n, n, "x" * 500))
    link.execute("UPDATE pairs SET other = other + 1, n = n + 1")
    link.execute("DELETE FROM pairs WHERE n - 200 > (SELECT min(n) FROM pairs)")
    link.execute("COMMIT")
    pathlib.Path("/workspace/.committed").write_text(str(n))
"""
CHECK = """
import sqlite3
link = sqlite3.connect("/workspace/data.db")
print(link.execute("PRAGMA integrity_check").fetchone()[0])
print(link.execute("SELECT count(*) FROM pairs WHERE n != other").fetchone()[0])
print(link.execute("SELECT count(*) > 0 FROM pairs").fetchone()[0])
"""


@pytest.fixture(scope="module", params=["root", "shared", "subordinates"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if os.geteuid() != 0:
        pytest.skip("only root can be two persons")
    uid = 0 if request.param == "root" else claim_person()
    with zygote_rig(uid, subordinates=request.param == "subordinates") as running:
        yield running


def shell(rig: ZygoteRig, box: wire.Box, line: str) -> str:
    return rig.inside(box, "/bin/sh", "-c", line)[1].strip()


def begin(rig: ZygoteRig, box: wire.Box, name: str, program: str, text: str) -> None:
    """Begin a writer that goes on, whose complaints are in a file beside."""
    place = f"/workspace/.{name}"
    write = f"cat > {place} <<'END'\n{text}END\n"
    shell(rig, box, f"{write}{program} {place} </dev/null >/workspace/.said-{name} 2>&1 &")


def await_more(rig: ZygoteRig, box: wire.Box) -> None:
    """Wait until both writers have done more than now."""
    for name in (".collected", ".committed"):
        seen = shell(rig, box, f"cat /workspace/{name} 2>/dev/null")
        more = f'[ "$(cat /workspace/{name} 2>/dev/null || echo 0)" -gt {seen or 0} ] 2>/dev/null'
        shell(rig, box, f"until {more}; do :; done")


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_repository_and_database_under_writers_come_back_whole(rig: ZygoteRig, mode: str) -> None:
    box = rig.start("sb_writer", env=ENV, limits=SMALL)
    begin(rig, box, "git", "/bin/sh", GIT)
    begin(rig, box, "sqlite", "python3", SQLITE.replace("MODE", mode))
    try:
        for number in range(ROUNDS):
            await_more(rig, box)
            kept = rig.ask(KeepSnapshot("sb_writer", f"snap_{number}"))
            assert isinstance(kept, SnapshotKept), kept
            copy = rig.start(f"sb_copy{number}", env=ENV, seed=f"snap_{number}", limits=SMALL)
            status, told = rig.inside(copy, "/usr/bin/python3", "-c", CHECK)[:2]
            assert (status, told.split()) == (0, ["ok", "0", "1"])
            look = "cd /workspace/repo && git fsck --strict && git log -1 --format=tformat:ok"
            status, said = rig.inside(copy, "/bin/sh", "-c", f"({look}) 2>&1")[:2]
            assert status == 0 and "error" not in said and "missing" not in said, said
            assert said.endswith("ok\n")
            rig.ask(wire.Destroy(f"sb_copy{number}"))
        assert shell(rig, box, "cat /workspace/.said-*") == ""
    finally:
        rig.ask(wire.Destroy("sb_writer"))
        for folder in list(rig.home.snapshots.iterdir()):
            assert rig.ask(DropSnapshot(folder.name)) == SnapshotDropped(True)
