import stat
import sys
from pathlib import Path

import pytest

from atoll.adapters.vaults.envelope import EnvelopeVault, MasterKey
from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.adapters.vaults.master_keys import KeyFile, from_command, read_keys, spell_keys
from atoll.domain.errors import Conflict, Failed
from atoll.testing.contracts.vault import BINDING, VALUE, KeyedVault, VaultContract

ONE, TWO = MasterKey(b"1" * 32), MasterKey(b"2" * 32)


class TestEnvelope(VaultContract):
    def vault(self) -> KeyedVault:
        return EnvelopeVault(lambda: [ONE], lambda keys: None)


class TestInMemory(VaultContract):
    def vault(self) -> KeyedVault:
        return InMemoryVault()


def test_sealed_bytes_hold_no_value_and_never_repeat() -> None:
    vault = EnvelopeVault(lambda: [ONE])
    one, two = vault.seal(VALUE, BINDING), vault.seal(VALUE, BINDING)
    for sealed in (one, two):
        assert VALUE.encode() not in sealed.body + sealed.wrapped
    assert one.body[12:] != two.body[12:]
    assert one.wrapped != two.wrapped
    assert VALUE not in repr(one) + repr(vault)
    assert "1111" not in repr(ONE)


def test_wrong_master_key_opens_nothing() -> None:
    sealed = EnvelopeVault(lambda: [ONE]).seal(VALUE, BINDING)
    with pytest.raises(Failed, match="is not here"):
        EnvelopeVault(lambda: [TWO]).open(sealed, BINDING)


def test_keys_of_elsewhere_cannot_be_added_to() -> None:
    with pytest.raises(Conflict, match="last line"):
        EnvelopeVault(lambda: [ONE]).add()


def test_vault_without_keys_does_not_begin() -> None:
    with pytest.raises(Failed, match="no master key"):
        EnvelopeVault(lambda: [])


def test_key_file_is_made_private_and_kept(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "master.key")
    made = file.load()
    assert stat.S_IMODE((tmp_path / "master.key").stat().st_mode) == 0o600
    assert file.load() == made
    vault = EnvelopeVault(file.load, file.save)
    newest = vault.add()
    assert [key.id for key in file.load()] == [made[0].id, newest]
    vault.retire()
    assert [key.id for key in file.load()] == [newest]


def test_rotation_by_one_replica_is_known_to_another_at_once(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "master.key")
    one, two = (EnvelopeVault(file.load, file.save, reload=file.reload) for _ in range(2))
    before = one.seal(VALUE, BINDING)
    newest = one.add()
    during = two.seal(VALUE, BINDING)
    assert during.key_id == newest, "a value under the old key would be lost with it"
    moved = one.rewrap(before, BINDING)
    assert one.retire() == 1
    assert two.open(moved, BINDING) == one.open(during, BINDING) == VALUE
    assert two.fingerprint(VALUE, "org") == one.fingerprint(VALUE, "org")
    assert two.add() != newest
    assert two.retire() == 1
    assert one.open(two.rewrap(two.seal(VALUE, BINDING), BINDING), BINDING) == VALUE


def test_key_file_that_vanished_changes_nothing_for_who_has_its_keys(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "master.key")
    vault = EnvelopeVault(file.load, file.save, reload=file.reload)
    sealed = vault.seal(VALUE, BINDING)
    (tmp_path / "master.key").unlink()
    assert vault.open(vault.rewrap(sealed, BINDING), BINDING) == VALUE


def test_key_file_open_to_others_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    KeyFile(path).load()
    path.chmod(0o640)
    with pytest.raises(Failed, match="open to others"):
        KeyFile(path).load()
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(Failed):
        KeyFile(path).load()


def test_broken_keys_are_named_by_their_line_only() -> None:
    good = spell_keys([ONE, TWO])
    assert read_keys(f"# mine\n\n{good}", "here") == (ONE, TWO)
    for bad in ("", "# none\n", f"{good}short\n", f"{good}{good.split()[0][:-4]}\n"):
        with pytest.raises(Failed) as caught:
            read_keys(bad, "here")
        assert "short" not in caught.value.message
        assert "here" in caught.value.message


def test_command_gives_keys_or_a_reason(tmp_path: Path) -> None:
    (tmp_path / "k").write_text(spell_keys([ONE]))
    assert from_command(["cat", str(tmp_path / "k")]) == (ONE,)
    with pytest.raises(Failed, match="did not run"):
        from_command(["/nonexistent"])
    with pytest.raises(Failed, match="status 3"):
        from_command([sys.executable, "-c", "raise SystemExit(3)"])
