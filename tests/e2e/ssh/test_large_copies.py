"""A large file and many small ones by SFTP, both ways: `make test-slow` runs it."""

import hashlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.ssh.client import SshClient
from tests.peers.api import Api

pytestmark = pytest.mark.slow

MIB = 500
FILES = 10_000
SECONDS = 250


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/dev/shm") as made:
        yield Path(made)


def transfer(ada: SshClient, batch: str) -> None:
    """Run lines of sftp at the sandbox `large`, and print how long they took."""
    began = time.monotonic()
    words = [*ada.words("sftp", "-q", "-b", "-"), "large@gateway"]
    subprocess.run(words, input=batch.encode(), check=True, stdout=subprocess.PIPE, timeout=SECONDS)
    print(f"{batch.split()[0]} {batch.split()[1]}: {time.monotonic() - began:.1f} s")


def digest(tree: Path) -> str:
    """Return a digest of all names and contents."""
    total = hashlib.sha256()
    for file in sorted(tree.iterdir()):
        total.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def test_large_file_and_many_small_ones_arrive_whole(
    ada: SshClient, calls: Api, folder: Path
) -> None:
    sandbox = calls.create(name="large")["sandbox_id"]
    large, many = folder / "large", folder / "many"
    large.write_bytes(os.urandom(MIB * 2**20))
    many.mkdir()
    for number in range(FILES):
        (many / str(number)).write_bytes(os.urandom(number % 300))
    transfer(ada, f"put {large} large")
    told = calls.run("large", "sha256sum < large").split()[0]
    assert told == hashlib.sha256(large.read_bytes()).hexdigest()
    transfer(ada, f"get large {folder}/back")
    assert (folder / "back").read_bytes() == large.read_bytes()
    transfer(ada, f"put -R {many} .")
    transfer(ada, f"get -R many {folder}/again")
    assert digest(folder / "again") == digest(many)
    calls.act(sandbox, "destroy")
