"""The contracts of a TokenSigner and of an AuditSigner.

Subclass `TokenSignerContract` or `AuditSignerContract` in a test module and give it the fixture
`signer`. Override `reopened` when an audit signer keeps its key between two objects.
"""

import base64
import json

import pytest

from atoll.domain.errors import Failed
from atoll.ports.signer import AuditSigner, TokenSigner
from atoll.wire.jwt import BadToken, header_of, read_compact

PAYLOAD = b'{"sub":"zw\xc3\xb6lf"}'


def base64url(data: bytes) -> str:
    """Return bytes in base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class TokenSignerContract:
    """Contract of a signer: what it signed it reads again, and nothing else."""

    def test_token_is_read_with_its_key_and_has_our_header(self, signer: TokenSigner) -> None:
        pair = signer.make("k1")
        text = signer.sign("k1", pair.private, PAYLOAD)
        assert signer.payload(text, pair.public) == PAYLOAD
        assert read_compact(text).kid == "k1"

    def test_public_half_has_no_private_member(self, signer: TokenSigner) -> None:
        half = json.loads(signer.make("k1").public)
        assert set(half) == {"kty", "crv", "x", "y", "kid", "use", "alg"}
        assert (half["kid"], half["use"], half["alg"]) == ("k1", "sig", "ES256")

    def test_two_pairs_have_nothing_in_common(self, signer: TokenSigner) -> None:
        first, two = signer.make("k1"), signer.make("k1")
        text = signer.sign("k1", first.private, PAYLOAD)
        with pytest.raises(BadToken):
            signer.payload(text, two.public)

    def test_key_of_another_id_reads_nothing(self, signer: TokenSigner) -> None:
        pair = signer.make("k1")
        text = signer.sign("k2", pair.private, PAYLOAD)
        with pytest.raises(BadToken):
            signer.payload(text, pair.public)

    def test_each_changed_part_is_refused(self, signer: TokenSigner) -> None:
        pair = signer.make("k1")
        head, body, tail = signer.sign("k1", pair.private, PAYLOAD).split(".")
        other = base64url(b'{"sub":"root"}')
        flipped = ("A" if tail[0] != "A" else "B") + tail[1:]
        for text in (f"{head}.{other}.{tail}", f"{head}.{body}.{flipped}", f"{head}.{body}.",
                     f"{head}.{body}", f"{head}.{body}.{tail[:-4]}", f".{body}.{tail}", "", "..",
                     f"{head}.{body}.{tail}.{tail}"):  # fmt: skip
            with pytest.raises(BadToken):
                signer.payload(text, pair.public)

    @pytest.mark.parametrize(
        "more",
        [{"alg": "none"}, {"alg": "HS256"}, {"alg": "RS256"}, {"alg": "es256"}, {"alg": ["ES256"]},
         {"jku": "https://evil.example/keys"}, {"x5u": "https://evil.example"}, {"x5c": ["MA"]},
         {"jwk": {"kty": "EC"}}, {"crit": ["exp"]}, {"cty": "JWT"}, {"zip": "DEF"}, {"b64": False},
         {"typ": "at+jwt"}, {"kid": ""}, {"kid": "../k1"}, {"kid": 1}],
        ids=str,
    )  # fmt: skip
    def test_header_that_is_not_ours_is_refused(
        self, signer: TokenSigner, more: dict[str, object]
    ) -> None:
        pair = signer.make("k1")
        _, body, tail = signer.sign("k1", pair.private, PAYLOAD).split(".")
        head = base64url(json.dumps({**header_of("k1"), **more}).encode())
        with pytest.raises(BadToken):
            signer.payload(f"{head}.{body}.{tail}", pair.public)

    @pytest.mark.parametrize("half", ["", "{}", "null", '{"kty":"oct","k":"AA"}', "[1]"])
    def test_key_that_is_none_fails_without_telling_it(
        self, signer: TokenSigner, half: str
    ) -> None:
        with pytest.raises(Failed):
            signer.sign("k1", half, PAYLOAD)
        pair = signer.make("k1")
        with pytest.raises(BadToken):
            signer.payload(signer.sign("k1", pair.private, PAYLOAD), half)


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
