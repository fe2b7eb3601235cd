"""The contract of an AuditSigner.

Subclass `AuditSignerContract` in a test module and give it the fixture `signer`. Override
`reopened` when the signer keeps its key between two objects.
"""

import pytest

from atoll.ports.audit import AuditSigner


class AuditSignerContract:
    """A signature that can be checked with the public key alone."""

    def reopened(self, signer: AuditSigner) -> AuditSigner:
        """Return the signer as a later process finds it."""
        return signer

    def test_own_signature_is_known(self, signer: AuditSigner) -> None:
        assert signer.signed(b"words", signer.sign(b"words"))

    def test_key_outlives_a_restart(self, signer: AuditSigner) -> None:
        signature = signer.sign(b"words")
        again = self.reopened(signer)
        assert again.public_key() == signer.public_key()
        assert again.signed(b"words", signature)

    def test_lengths_are_those_of_ed25519(self, signer: AuditSigner) -> None:
        assert (len(signer.public_key()), len(signer.sign(b""))) == (64, 128)

    @pytest.mark.parametrize("signature", ["", "00", "zz" * 64, "00" * 64, "é" * 128])
    def test_what_is_no_signature_is_not_known(self, signer: AuditSigner, signature: str) -> None:
        assert not signer.signed(b"words", signature)

    def test_other_words_are_not_signed(self, signer: AuditSigner) -> None:
        assert not signer.signed(b"other words", signer.sign(b"words"))
