"""What a server may hold, and what it may not be made to make or to wait for."""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inside.sftp.client import (
    CREATES,
    READS,
    WRITES,
    Ask,
    Refusal,
    SftpClient,
    Status,
    attributes,
    long,
    number,
    raises,
    text,
)

MOST_HANDLES = 256
OPENS = 1_000_000
BATCH = 10_000
MOST_MEMORY_KIB = 12 * 1024
TIB = 1 << 40


def test_holes_larger_than_a_disk_are_refused(sftp: SftpClient, work: Path) -> None:
    disk = os.statvfs(work)
    most = min(TIB, disk.f_blocks * disk.f_frsize)
    handle = sftp.open(b"bomb", READS | WRITES | CREATES)
    other = sftp.open(b"other", READS | WRITES | CREATES)
    sftp.write(other, 0, b"other")

    def bombs(size: int) -> list[Callable[[], object]]:
        copy = text(other) + long(0) + long(0) + text(handle) + long(size)
        return [
            lambda: sftp.ask(Ask.SETSTAT, text(b"bomb"), attributes(size=size)),
            lambda: sftp.ask(Ask.FSETSTAT, text(handle), attributes(size=size)),
            lambda: sftp.write(handle, size, b"x"),
            lambda: sftp.extended(b"copy-data", copy),
        ]

    for size in (most + 1, 1 << 62, (1 << 63) - 1, (1 << 64) - 1):
        for bomb in bombs(size):
            with raises(Status.FAILURE):
                bomb()
    assert (work / "bomb").stat().st_size == 0
    sftp.write(handle, 1 << 20, b"x")
    sftp.ask(Ask.FSETSTAT, text(handle), attributes(size=1 << 21))
    assert (work / "bomb").stat().st_size == 1 << 21


def test_what_is_no_file_is_not_opened(sftp: SftpClient, work: Path) -> None:
    os.mkfifo(work / "pipe")
    (work / "folder").mkdir()
    (work / "zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(work / "socket"))
        for name in (b"pipe", b"socket", b"folder"):
            for flags in (READS, WRITES, READS | WRITES, WRITES | CREATES):
                with raises(Status.FAILURE):
                    sftp.open(name, flags)
            with raises(Status.FAILURE):
                sftp.ask(Ask.SETSTAT, text(name), attributes(size=1))
    with raises(Status.PERMISSION_DENIED):
        sftp.open(b"zero")


@pytest.mark.root
def test_device_is_not_opened(sftp: SftpClient, work: Path) -> None:
    try:
        os.mknod(work / "zero", 0o020666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no devices may be made here")
    for flags in (READS, WRITES, WRITES | CREATES):
        with raises(Status.FAILURE):
            sftp.open(b"zero", flags)


def test_handles_have_a_bound(sftp: SftpClient, work: Path) -> None:
    (work / "file").write_text("file")
    handles = [sftp.open(b"file") for _ in range(MOST_HANDLES - 1)]
    handles.append(sftp.ask(Ask.OPENDIR, text(b"."))[1].text())
    assert len(set(handles)) == MOST_HANDLES
    for _ in range(2):
        with raises(Status.FAILURE):
            sftp.open(b"file")
        with raises(Status.FAILURE):
            sftp.ask(Ask.OPENDIR, text(b"/"))
        with raises(Status.FAILURE):
            sftp.open(b"new", WRITES | CREATES)
    assert not (work / "new").exists()
    sftp.close(handles[7])
    handle = sftp.open(b"file")
    assert handle not in handles
    with raises(Status.FAILURE):
        sftp.read(handles[7], 0, 1)
    assert sftp.read(handle, 0, 9) == b"file"


def test_million_opens_fail_and_the_server_lives(sftp: SftpClient, work: Path) -> None:
    (work / "file").write_text("file")
    handles = [sftp.open(b"file") for _ in range(MOST_HANDLES)]
    with pytest.raises(Refusal) as refusal:
        sftp.open(b"file")
    request = text(bytes([Ask.OPEN]) + number(7) + text(b"file") + number(READS) + number(0))
    reason = text(refusal.value.reason.encode())
    answer = text(bytes([101]) + number(7) + number(Status.FAILURE) + reason + text(b"en"))

    def flood() -> None:
        for _ in range(OPENS // BATCH):
            sftp.input.write(request * BATCH)
        sftp.input.flush()

    sender = threading.Thread(target=flood)
    sender.start()
    for _ in range(OPENS // BATCH):
        assert sftp.output.read(len(answer) * BATCH) == answer * BATCH
    sender.join()
    for handle in handles:
        sftp.close(handle)
    assert sftp.contents(b"file") == b"file"


@pytest.mark.parametrize("program", ["shipped"], indirect=True)
def test_memory_is_bounded(sftp: SftpClient, work: Path) -> None:
    """Of the shipped one: checks of addresses need memory of their own."""
    with (work / "large").open("wb") as large:
        large.truncate(64 << 20)
    for count in range(5000):
        (work / f"{count:0200}").touch()
    handle = sftp.open(b"large")
    for at in range(0, 64 << 20, 1 << 18):
        assert sftp.read(handle, at, 1 << 18)
    folders = [sftp.ask(Ask.OPENDIR, text(b"."))[1].text() for _ in range(MOST_HANDLES - 1)]
    for folder in folders:
        sftp.ask(Ask.READDIR, text(folder))
    state = Path(f"/proc/{sftp.process.pid}/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in state if line.startswith("VmHWM"))
    assert peak <= MOST_MEMORY_KIB, f"{peak} KiB"
