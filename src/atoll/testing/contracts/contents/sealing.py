"""The contract of seals of blobs. Give `BlobSealerContract` the fixture `sealer`."""

import secrets

import pytest

from atoll.ports.contents.sealing import BlobSealer

PLAIN = b"canary " * 10_000


class BlobSealerContract:
    """Contract of a sealer: one key and one name open what they sealed, to the last bit."""

    def test_bytes_come_back_and_cannot_be_read(self, sealer: BlobSealer) -> None:
        """Packed, under another nonce each time."""
        key = secrets.token_bytes(32)
        for plain in (PLAIN, b"", secrets.token_bytes(100_000)):
            sealed = sealer.seal(key, "a/one", plain)
            assert sealer.open(key, "a/one", sealed, len(plain)) == plain
            assert sealed != sealer.seal(key, "a/one", plain)
        sealed = sealer.seal(key, "a/one", PLAIN)
        assert b"canary" not in sealed and len(sealed) < len(PLAIN) / 10

    def test_changed_bytes_other_names_and_keys_do_not_open(self, sealer: BlobSealer) -> None:
        """A bit at each place, and every shorter beginning."""
        key = secrets.token_bytes(32)
        sealed = sealer.seal(key, "a/one", PLAIN)
        for at in range(len(sealed)):
            changed = bytearray(sealed)
            changed[at] ^= 1 << at % 8
            with pytest.raises(ValueError):
                sealer.open(key, "a/one", bytes(changed), len(PLAIN))
            with pytest.raises(ValueError):
                sealer.open(key, "a/one", sealed[:at], len(PLAIN))
        for other in (sealed + b"\0", sealer.seal(key, "a/two", PLAIN)):
            with pytest.raises(ValueError):
                sealer.open(key, "a/one", other, len(PLAIN))
        with pytest.raises(ValueError):
            sealer.open(secrets.token_bytes(32), "a/one", sealed, len(PLAIN))

    def test_more_than_is_expected_is_not_unpacked(self, sealer: BlobSealer) -> None:
        """Bytes that become a thousand times as many are bounded before."""
        key = secrets.token_bytes(32)
        sealed = sealer.seal(key, "a/one", bytes(10_000_000))
        assert len(sealed) < 10_000
        with pytest.raises(ValueError):
            sealer.open(key, "a/one", sealed, 9_999_999)
