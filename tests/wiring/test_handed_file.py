"""A file of the person who starts Atoll, read by the program that their process becomes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.adapters.auth.private_file import read_private
from atoll.domain.errors import Invalid
from atoll.wiring.control.settings import setting_names
from atoll.wiring.launch.handed_file import (
    MAX_BYTES,
    NAMED,
    hand_over_named,
    handed_over,
    replace_named,
)

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


def private(place: Path, text: str, mode: int = 0o600) -> str:
    place.write_text(text)
    place.chmod(mode)
    return str(place)


def test_every_private_file_that_a_setting_names_is_handed_over(tmp_path: Path) -> None:
    names = [private(tmp_path / f"file{number}", f"secret {number}") for number in range(3)]
    open_one = private(tmp_path / "open", "everybody's", 0o644)
    (tmp_path / "link").symlink_to(names[0])
    (tmp_path / "config.toml").write_text(
        f'front_end_secret_file = "{names[0]}"\n'
        f'bus_credentials = "{open_one}"\n'
        f'tls_key = "{tmp_path}/link"\n'
        'bus_tls_key = "relative"\n'
        f'[auth]\n[[auth.realms]]\nclient_secret_file = "{names[1]}"\nname = "{names[2]}"\n'
    )
    environ = {"ATOLL_DRIVE_CLIENT_SECRET_FILE": names[2], "ATOLL_BUS_TLS_KEY": "/absent"}
    handed = hand_over_named(tmp_path, os.geteuid(), environ)
    try:
        assert handed.keys() == set(names)
        for number, name in enumerate(names):
            assert read_private(Path(handed[name]), 100) == f"secret {number}".encode()
            assert Path(handed[name]).stat().st_mode & 0o777 == 0o600
        given = {"front_end_secret_file": names[0], "host": names[1], "auth": {"realms": [
            {"client_secret_file": names[1], "name": names[2]}, "text"]}}  # fmt: skip
        assert replace_named(given, handed) == {
            "front_end_secret_file": handed[names[0]],
            "host": names[1],
            "auth": {
                "realms": [{"client_secret_file": handed[names[1]], "name": names[2]}, "text"]
            },
        }
    finally:
        for place in handed.values():
            os.close(int(place.rpartition("/")[2]))


def test_settings_that_others_may_have_written_hand_nothing_over(tmp_path: Path) -> None:
    secret = private(tmp_path / "file", "secret")
    config = tmp_path / "config.toml"
    assert hand_over_named(tmp_path, os.geteuid(), {}) == {}
    config.write_text(f'front_end_secret_file = "{secret}"\n')
    config.chmod(0o666)
    assert hand_over_named(tmp_path, os.geteuid(), {}) == {}


ENDINGS = ("_secret_file", "_credentials", "_credentials_file", "_key")


def test_every_setting_that_names_a_private_file_is_known() -> None:
    alike = {name for name in setting_names() if name.endswith(ENDINGS)}
    assert alike - {"master_key", "previous_keys"} == NAMED - {"client_secret_file"}
