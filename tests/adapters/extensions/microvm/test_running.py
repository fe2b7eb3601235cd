"""The process of a machine is found by its folder, and only among those of the folder's owner."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from atoll.adapters.extensions.microvm.qemu import shown_folder
from atoll.adapters.extensions.microvm.running import GuestMachine
from tests.claims import claim_uid

STRANGER = claim_uid()


@contextmanager
def saying(folder: Path, user: int) -> Iterator[None]:
    """Run a program whose command shows the folder to a machine, as that user."""
    argv = ["sh", "-c", "echo; read _", *shown_folder(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, user=user) as program:
        assert program.stdout is not None
        program.stdout.readline()
        yield
        program.communicate()


async def test_machine_of_a_folder_is_its_owners(tmp_path: Path) -> None:
    with saying(tmp_path, os.geteuid()):
        assert GuestMachine(tmp_path).runs()
    assert not GuestMachine(tmp_path).runs()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_stranger_who_says_the_same_words_is_no_machine(tmp_path: Path) -> None:
    with saying(tmp_path, STRANGER):
        running = GuestMachine(tmp_path)
        assert not running.runs() and not await running.stop()
        await running.kill()
