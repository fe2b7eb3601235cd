"""Snapshots and forks of a workspace of 400 MiB, on the home's own disk and on one that shares
blocks: how long writers stand still, what a fork takes, and what it costs on the disk."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atoll.zygote.disk.image import clones
from bench.figures import Series, ratio, table, verdict
from bench.peers import milliseconds
from bench.server import Server, server

MIB = 400
ROUNDS = 20
MANY = 20
DISK_BYTES = 40 * 2**30
MIB_BYTES = 2**20
FILL = f"for n in $(seq {MIB}); do head -c 1048576 /dev/urandom > file$n; done; sync"
WRITER = (
    "import sqlite3; base = sqlite3.connect('/workspace/base', isolation_level=None);"
    "base.execute('pragma journal_mode=wal'); base.execute('create table rows (text)')\n"
    "while True: base.execute('insert into rows values (?)', ('x' * 500,))"
)


def snapshots() -> None:
    """Snapshots of a sandbox that writes, and forks of it, beside a sparse copy of its disk."""
    _measure("the home's own disk", None)
    if shutil.which("mkfs.xfs"):
        with shared_blocks() as disk:
            _measure("a disk that shares blocks (XFS)", disk)
    else:
        print("  no mkfs.xfs here: a disk that shares blocks was not measured")


def _measure(where: str, disk: Path | None) -> None:
    with server(boxes_on=disk) as atoll:
        boxes = atoll.host.home / "boxes"
        shares = clones(boxes)
        empty, full = atoll.create(), atoll.create()
        assert atoll.run(full, "sh", "-c", FILL)["exit_code"] == 0
        alone = Series("stands still: an empty workspace")
        still = Series(f"stands still: {MIB} MiB, a writer inside")
        taken = Series("a snapshot, from request to answer")
        alone.samples += [_take(atoll, empty)[0] for _ in range(ROUNDS)]
        body = {"argv": ["python3", "-c", WRITER], "background": True}
        atoll.api.post(f"/v1/sandboxes/{full}/exec", json=body).raise_for_status()
        for _ in range(ROUNDS if shares else 3):
            stood, whole = _take(atoll, full)
            still.samples.append(stood)
            taken.samples.append(whole)
        copy = Series("a sparse copy of the disk")
        copy.samples += [_copy(boxes / full / "image") for _ in range(3)]
        one = Series("a fork, from request until it is ready")
        one.samples += [_fork(atoll, full, 1) for _ in range(5)]
        before = shutil.disk_usage(boxes).used
        many = Series(f"{MANY} forks, until all are ready")
        if shares:
            many.samples.append(_fork(atoll, full, MANY))
        grown = shutil.disk_usage(boxes).used - before
        table(where, alone, still, taken, copy, one, many)
        if shares:
            verdict("times as still as an empty one", still.median / alone.median, 1.5)
            verdict("of a sparse copy's time", one.median / copy.median, 1 / 3)
            verdict("% more disk for all forks", 100 * grown / (MIB * MIB_BYTES), 5)
            verdict("s for all forks", many.median / 1000, 0.5)
        else:
            ratio("times a sparse copy, a fork", one.median / copy.median)


def _take(atoll: Server, sandbox: str) -> tuple[float, float]:
    """Take a snapshot and drop it. Returns how long writers stood still and how long it took, in
    milliseconds."""
    started = time.perf_counter()
    answer = atoll.api.post(f"/v1/sandboxes/{sandbox}/snapshots", json={})
    answer.raise_for_status()
    whole, snapshot = milliseconds(started), answer.json()
    atoll.api.delete(f"/v1/snapshots/{snapshot['snapshot_id']}").raise_for_status()
    return max(1, snapshot["still_ms"]), whole


def _fork(atoll: Server, sandbox: str, count: int) -> float:
    started = time.perf_counter()
    answer = atoll.api.post(f"/v1/sandboxes/{sandbox}/fork", json={"count": count})
    answer.raise_for_status()
    made = [one["sandbox_id"] for one in answer.json()["sandboxes"]]
    for copy in made:
        atoll.api.get(f"/v1/sandboxes/{copy}", params={"wait": "ready"}).raise_for_status()
    took = milliseconds(started)
    for copy in made if count == 1 else ():
        atoll.api.delete(f"/v1/sandboxes/{copy}", params={"wait": "true"}).raise_for_status()
    return took


def _copy(image: Path) -> float:
    target = image.with_name("bench-copy")
    started = time.perf_counter()
    argv = ["cp", "--sparse=always", "--reflink=never", str(image), str(target)]
    subprocess.run(argv, check=True)
    took = milliseconds(started)
    target.unlink()
    return took


@contextmanager
def shared_blocks() -> Iterator[Path]:
    """Yield the folder of an XFS file system in a sparse file."""
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        image, place = Path(folder) / "image", Path(folder) / "disk"
        place.mkdir()
        with image.open("wb") as blank:
            blank.truncate(DISK_BYTES)
        subprocess.run(["mkfs.xfs", "-q", "-K", str(image)], check=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", str(place)], check=True)
