"""The contract of a Vault, as a test class to inherit from: say in `vault` how one is made."""

from dataclasses import replace
from typing import Protocol

import pytest

from atoll.domain.errors import Failed
from atoll.ports.vault import Masters, Sealed, Vault

VALUE = "sk-canary-0123456789"
BINDING = ("org", "sec_1", "1")


class KeyedVault(Vault, Masters, Protocol):
    """A vault whose master keys can be rotated."""


class VaultContract:
    """Contract of a vault: inherit, and say how a vault is made."""

    def vault(self) -> KeyedVault:
        """Return a new vault with one master key of its own."""
        raise AssertionError("a contract class says how its vault is made")

    def test_value_comes_back_for_its_binding(self) -> None:
        vault = self.vault()
        for value in (VALUE, "two\nlines äö", "x" * 65536):
            assert vault.open(vault.seal(value, BINDING), BINDING) == value

    @pytest.mark.parametrize(
        "binding",
        [("org2", "sec_1", "1"), ("org", "sec_2", "1"), ("org", "sec_1", "2"), ("org", "sec_11")],
    )
    def test_value_opens_for_no_other_binding(self, binding: tuple[str, ...]) -> None:
        vault = self.vault()
        _check_stays_sealed(vault, vault.seal(VALUE, BINDING), binding)

    def test_changed_bytes_do_not_open(self) -> None:
        vault = self.vault()
        sealed = vault.seal(VALUE, BINDING)
        for at in (0, len(sealed.body) // 2, len(sealed.body) - 1):
            _check_stays_sealed(vault, replace(sealed, body=_flip_bit(sealed.body, at)), BINDING)
        for at in (0, len(sealed.wrapped) - 1):
            _check_stays_sealed(
                vault, replace(sealed, wrapped=_flip_bit(sealed.wrapped, at)), BINDING
            )
        _check_stays_sealed(vault, replace(sealed, body=b""), BINDING)
        _check_stays_sealed(vault, replace(sealed, wrapped=b""), BINDING)
        _check_stays_sealed(vault, replace(sealed, key_id="nobody's"), BINDING)

    def test_parts_of_two_values_do_not_make_one(self) -> None:
        vault = self.vault()
        first, two = vault.seal(VALUE, BINDING), vault.seal("another value", ("org", "sec_2", "1"))
        _check_stays_sealed(vault, replace(first, body=two.body), BINDING)
        _check_stays_sealed(vault, replace(first, wrapped=two.wrapped), BINDING)

    def test_master_key_turns_over_and_values_stay(self) -> None:
        vault = self.vault()
        old = vault.seal(VALUE, BINDING)
        newest = vault.add()
        assert vault.open(old, BINDING) == VALUE
        new = vault.rewrap(old, BINDING)
        assert new.key_id == newest != old.key_id
        assert new.body == old.body
        assert vault.retire() == 1
        assert vault.open(new, BINDING) == VALUE
        _check_stays_sealed(vault, old, BINDING)
        with pytest.raises(Failed):
            vault.rewrap(old, BINDING)

    def test_fingerprint_is_stable_and_another_elsewhere(self) -> None:
        vault = self.vault()
        mark = vault.fingerprint(VALUE, "org")
        assert mark == vault.fingerprint(VALUE, "org")
        assert mark not in {vault.fingerprint(VALUE, "org2"), vault.fingerprint(VALUE + "0", "org")}
        assert len(mark) == 32 and set(mark) <= set("0123456789abcdef")


def _check_stays_sealed(vault: Vault, sealed: Sealed, binding: tuple[str, ...]) -> None:
    with pytest.raises(Failed) as caught:
        vault.open(sealed, binding)
    assert caught.value.code == "vault_sealed"
    assert VALUE not in caught.value.message


def _flip_bit(data: bytes, at: int) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1
    return bytes(changed)
