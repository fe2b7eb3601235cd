"""Which master keys a control plane takes: the command's, the environment's, or its own file's."""

import os
import tempfile
from pathlib import Path

import pytest

from atoll.adapters.vaults.envelope import MasterKey
from atoll.adapters.vaults.master_keys import spell_keys
from atoll.domain.errors import Conflict, Failed, Invalid
from atoll.wire.contract.policy import DoorLimits
from atoll.wiring.control.settings import read_settings
from atoll.wiring.control.vaulting import VARIABLE, open_vault
from atoll.wiring.launch.home_setup import prepare_home

ONE, TWO = MasterKey(b"1" * 32), MasterKey(b"2" * 32)


def test_home_makes_its_own_key_once(tmp_path: Path) -> None:
    settings = read_settings(tmp_path, {}, {})
    sealed = open_vault(settings, {}).seal("value", ())
    assert open_vault(settings, {}).open(sealed, ()) == "value"
    assert (tmp_path / "master.key").exists()


def test_environment_goes_before_the_file_and_makes_none(tmp_path: Path) -> None:
    text = spell_keys([ONE, TWO]).replace("\n", ";")
    vault = open_vault(read_settings(tmp_path, {}, {}), {VARIABLE: text})
    assert vault.seal("value", ()).key_id == TWO.id
    assert not (tmp_path / "master.key").exists()
    with pytest.raises(Conflict):
        vault.add()
    with pytest.raises(Failed) as caught:
        open_vault(read_settings(tmp_path, {}, {}), {VARIABLE: "not a key"})
    assert "not a key" not in caught.value.message


def test_command_goes_before_both(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(spell_keys([ONE]))
    command = f'master_key_command = ["cat", "{tmp_path / "keys"}"]\n'
    (tmp_path / "config.toml").write_text(command)
    vault = open_vault(read_settings(tmp_path, {}, {}), {VARIABLE: spell_keys([TWO])})
    assert vault.seal("value", ()).key_id == ONE.id


def test_limits_of_the_doors_are_read(tmp_path: Path) -> None:
    assert read_settings(tmp_path, {}, {}).services.policies.limits() == DoorLimits()
    (tmp_path / "config.toml").write_text(
        "[door_limits]\nrequests_per_minute = 60\nno_fetch = ['gemini']\n"
        "[door_limits.spend_micros]\nopenai = 5_000_000\n"
    )
    limits = read_settings(tmp_path, {}, {}).services.policies.limits()
    assert limits == DoorLimits(
        requests_per_minute=60, spend_micros={"openai": 5_000_000}, no_fetch=("gemini",)
    )
    (tmp_path / "config.toml").write_text("[door_limits]\nno_fetch = ['nobody']\n")
    with pytest.raises(Invalid, match="nobody"):
        read_settings(tmp_path, {}, {})
    (tmp_path / "config.toml").write_text('[door_limits]\nrequests_per_minute = "many"\n')
    with pytest.raises(Invalid):
        read_settings(tmp_path, {}, {})
    (tmp_path / "config.toml").write_text("[door_limits]\nrequests_per_minute = 0\n")
    with pytest.raises(Invalid):
        read_settings(tmp_path, {}, {})
    (tmp_path / "config.toml").write_text("[door_limits]\nrequests = 1\n")
    with pytest.raises(Invalid):
        read_settings(tmp_path, {}, {})


def test_cap_on_a_provider_without_prices_is_refused_rather_than_useless(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[door_limits.spend_micros]\ndeepgram = 5\n")
    with pytest.raises(Invalid, match=r"deepgram.*would hold nothing; known are anthropic"):
        read_settings(tmp_path, {}, {})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has somebody to hand it to")
def test_key_laid_there_before_the_first_start_is_the_control_planes() -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        home = Path(folder) / "h"
        home.mkdir()
        key = home / "master.key"
        key.write_text(spell_keys([ONE]))
        key.chmod(0o600)
        uid = prepare_home(home)
        assert (key.stat().st_uid, key.stat().st_mode & 0o777) == (uid, 0o600)
        key.unlink()
        stranger = home / "stranger"
        stranger.write_text("root's")
        key.symlink_to(stranger)
        prepare_home(home)
        assert stranger.stat().st_uid == 0
