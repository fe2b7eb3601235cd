"""A vault for tests: it keeps nothing secret, and refuses what a real one refuses."""

import hashlib
import json

from atoll.domain.errors import Failed
from atoll.ports.vault import Binding, Sealed


class InMemoryVault:
    """The `ports.vault.Vault` and `Masters`, with names for keys. Sealed bytes can be read."""

    def __init__(self) -> None:
        self._keys = ["key-1"]
        self._made = 1

    def seal(self, value: str, binding: Binding) -> Sealed:
        """See the port."""
        newest = self._keys[-1]
        return Sealed(newest, _spell_words(newest, *binding), _spell_words(value, *binding))

    def open(self, sealed: Sealed, binding: Binding) -> str:
        """See the port."""
        self._check(sealed, binding)
        try:
            value, *bound = json.loads(sealed.body)
        except ValueError:
            value, bound = "", None
        if bound != list(binding):
            raise _sealed_error("it was changed, or belongs to something else")
        return str(value)

    def rewrap(self, sealed: Sealed, binding: Binding) -> Sealed:
        """See the port."""
        self._check(sealed, binding)
        return Sealed(self._keys[-1], _spell_words(self._keys[-1], *binding), sealed.body)

    def fingerprint(self, value: str, org_id: str) -> str:
        """See the port."""
        return hashlib.sha256(_spell_words(self._keys[-1], org_id, value)).hexdigest()[:32]

    def add(self) -> str:
        """See `ports.vault.Masters`."""
        self._made += 1
        self._keys.append(f"key-{self._made}")
        return self._keys[-1]

    def retire(self) -> int:
        """See `ports.vault.Masters`."""
        count = len(self._keys) - 1
        del self._keys[:-1]
        return count

    def _check(self, sealed: Sealed, binding: Binding) -> None:
        if sealed.key_id not in self._keys:
            raise _sealed_error("its master key is not here")
        if sealed.wrapped != _spell_words(sealed.key_id, *binding):
            raise _sealed_error("its key was changed, or belongs to something else")


def _spell_words(*words: str) -> bytes:
    return json.dumps(words).encode()


def _sealed_error(why: str) -> Failed:
    return Failed(f"The vault cannot open a value: {why}.", code="vault_sealed")
