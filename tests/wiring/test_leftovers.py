"""What the end of a test run finds on the machine, and whom it names."""

import subprocess
import tempfile

from tests.peers.leftovers import Folders

TAIL = ("tail", "--retry", "-f", "nothing")
"""It says that the file is missing, by when the kernel knows its command line, and stays."""


def test_process_left_in_a_folder_is_named_with_its_test_until_it_is_gone() -> None:
    folders = Folders()
    folders.watch()
    try:
        with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
            with subprocess.Popen(TAIL, cwd=folder, stderr=subprocess.PIPE) as process:
                assert process.stderr and process.stderr.readline()
                (line,) = folders.leftovers(seconds=0)
                process.kill()
            assert f"process {process.pid} 'tail --retry -f nothing' of {folder}" in line
            assert "test_process_left_in_a_folder" in line
            assert folders.leftovers() == []
    finally:
        folders.unwatch()


def test_process_elsewhere_with_a_similar_name_is_nobodys() -> None:
    folders = Folders()
    with (
        tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder,
        tempfile.TemporaryDirectory(prefix=folder, dir="/tmp") as longer,
        subprocess.Popen(["sleep", "1000"], cwd=longer) as process,
    ):
        folders.made[folder] = "this one"
        assert folders.leftovers(seconds=0) == []
        process.kill()
