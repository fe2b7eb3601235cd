"""The envelope vault: each value under a key of its own, that key under a master key.

AES-256-GCM (NIST SP 800-38D) twice, with random 96-bit nonces. A data key seals one value and a
master key only data keys, so no key comes near the number of uses at which nonces would repeat. The
owner of a value is the additional data of both layers.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from atoll.domain.errors import AtollError, Conflict, Failed
from atoll.ports.vault import Binding, Sealed

KEY_BYTES = 32
NONCE_BYTES = 12
FINGERPRINT_DIGITS = 32

_VALUE = b"atoll value 1"
_DATA_KEY = b"atoll data key 1"
_ID = b"atoll master key id 1"
_PRINTS = b"atoll fingerprints 1"


@dataclass(frozen=True, slots=True)
class MasterKey:
    """A master key of 32 random bytes. Its id is made from them, so that no two keys are
    confused."""

    secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The id: `mk_` and 16 hex digits."""
        return "mk_" + hashlib.sha256(_ID + self.secret).hexdigest()[:16]


Load = Callable[[], Sequence[MasterKey]]
Reload = Callable[[], Sequence[MasterKey] | None]
Save = Callable[[Sequence[MasterKey]], None]
Hold = Callable[[bytes], object]


class EnvelopeVault:
    """The `ports.vault.Vault` and `Masters`.

    `load` returns the master keys, the newest last; `save` keeps them, where Atoll may write them.
    `reload` returns those that are kept now, None when there are none to be found: another control
    plane may have rotated them. `hold` is called with each key that is used from now on, to keep it
    out of swap and cores.
    """

    def __init__(
        self,
        load: Load,
        save: Save | None = None,
        *,
        reload: Reload = lambda: None,
        hold: Hold = lambda _key: None,
    ) -> None:
        """Load the keys. Raises what `load` raises, and `Failed` when it returns none."""
        self._save, self._reload, self._hold = save, reload, hold
        self._keys: dict[str, MasterKey] = {}
        self._newest = self._take(load())

    def seal(self, value: str, binding: Binding) -> Sealed:
        """See the port."""
        data_key = secrets.token_bytes(KEY_BYTES)
        body = _encrypt(data_key, value.encode(), _join_with_lengths(_VALUE, binding))
        return self._wrap(data_key, body, binding)

    def open(self, sealed: Sealed, binding: Binding) -> str:
        """See the port."""
        data_key = self._unwrap(sealed, binding)
        value = _decrypt(data_key, sealed.body, _join_with_lengths(_VALUE, binding))
        if value is None:
            raise _sealed_error("the sealed value was changed, or belongs to something else")
        return value.decode()

    def rewrap(self, sealed: Sealed, binding: Binding) -> Sealed:
        """See the port."""
        return self._wrap(self._unwrap(sealed, binding), sealed.body, binding)

    def fingerprint(self, value: str, org_id: str) -> str:
        """See the port. Made with the newest master key: it changes when that does."""
        self._refresh()
        key = hmac.digest(self._newest.secret, _PRINTS, "sha256")
        mac = hmac.new(key, _join_with_lengths(b"", (org_id, value)), "sha256")
        return mac.hexdigest()[:FINGERPRINT_DIGITS]

    def add(self) -> str:
        """See `ports.vault.Masters`."""
        self._refresh()
        fresh = MasterKey(secrets.token_bytes(KEY_BYTES))
        self._keep([*self._keys.values(), fresh])
        return fresh.id

    def retire(self) -> int:
        """See `ports.vault.Masters`."""
        self._refresh()
        before = len(self._keys)
        self._keep([self._newest])
        return before - 1

    def _keep(self, keys: Sequence[MasterKey]) -> None:
        if self._save is None:
            raise Conflict(
                "The vault's master keys come from the environment or a command: add a new one "
                "there, as the last line, restart, and rotate again.",
                code="foreign_master_key",
            )
        self._save(keys)
        self._newest = self._take(keys)

    def _refresh(self) -> None:
        """Load the keys that another control plane changed. A seal within a transaction has the
        newest key: a rotation stores it before its own transaction begins."""
        keys = self._reload()
        if keys and [key.id for key in keys] != [*self._keys]:
            self._newest = self._take(keys)

    def _take(self, keys: Sequence[MasterKey]) -> MasterKey:
        if not keys:
            raise Failed("the vault has no master key")
        self._keys = {key.id: key for key in keys}
        for key in keys:
            self._hold(key.secret)
        return keys[-1]

    def _wrap(self, data_key: bytes, body: bytes, binding: Binding) -> Sealed:
        self._refresh()
        master = self._newest
        bound = _join_with_lengths(_DATA_KEY, (master.id, *binding))
        return Sealed(master.id, _encrypt(master.secret, data_key, bound), body)

    def _unwrap(self, sealed: Sealed, binding: Binding) -> bytes:
        if sealed.key_id not in self._keys:
            self._refresh()
        master = self._keys.get(sealed.key_id)
        if master is None:
            raise _sealed_error(f"its master key {sealed.key_id[:40]!r} is not here")
        bound = _join_with_lengths(_DATA_KEY, (master.id, *binding))
        data_key = _decrypt(master.secret, sealed.wrapped, bound)
        if data_key is None:
            raise _sealed_error("its sealed key was changed, or belongs to something else")
        return data_key


def _encrypt(key: bytes, plain: bytes, bound: bytes) -> bytes:
    # Loaded here: a control plane without secrets never pays for it.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plain, bound)


def _decrypt(key: bytes, sealed: bytes, bound: bytes) -> bytes | None:
    """Return the plain bytes; None when they were not sealed by this key for this binding."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound)
    except (InvalidTag, ValueError):
        return None


def _join_with_lengths(purpose: bytes, words: Sequence[str]) -> bytes:
    """Return words with their lengths, so that no two lists of words give the same bytes."""
    raw = [purpose, *(word.encode("utf-8", "surrogatepass") for word in words)]
    return b"".join(len(one).to_bytes(4, "big") + one for one in raw)


def _sealed_error(why: str) -> AtollError:
    return Failed(f"The vault cannot open a value: {why}.", code="vault_sealed")
