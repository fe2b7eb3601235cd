"""A file of the person who starts Atoll, read by the program that their process becomes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.domain.errors import Invalid
from atoll.wiring.launch.handed_file import MAX_BYTES, handed_over

READ = """
import os, sys
from atoll.zygote.host import kernel
kernel.forbid_cores()
if os.geteuid() == 0:
    kernel.drop_to(54321, ())
print(open(sys.argv[1]).read())
"""


def test_file_of_its_owner_alone_is_read_by_the_next_program_of_another_user(
    tmp_path: Path,
) -> None:
    key = tmp_path / "key.pem"
    key.write_text("the key")
    key.chmod(0o600)
    place = handed_over(key)
    number = int(place.rpartition("/")[2])
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ, place],
            pass_fds=(number,),
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(number)
    assert (done.stdout, done.stderr) == ("the key\n", "")


def test_file_that_cannot_be_handed_over_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="cannot be read"):
        handed_over(tmp_path / "absent.pem")
    large = tmp_path / "large.pem"
    large.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(Invalid, match="too large"):
        handed_over(large)
