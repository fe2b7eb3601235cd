"""The contracts of a TokenSigner, of an AuditSigner and of an SshSigner.

Subclass `TokenSignerContract`, `AuditSignerContract` or `SshSignerContract` in a test module and
give it the fixture `signer`. Override `reopened` when an audit signer keeps its key between two
objects.
"""

import base64
import json

import pytest

from atoll.domain.errors import Failed
from atoll.ports.signer import AuditSigner, SshSigner, TokenSigner
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


class SshSignerContract:
    """A key of OpenSSH, whose signature can be checked with its public half alone."""

    def test_own_signature_is_known_and_no_other_keys(self, signer: SshSigner) -> None:
        pair, other = signer.make(), signer.make()
        signature = signer.sign(pair.private, b"words")
        assert len(signature) == 64
        assert signer.signed(pair.public, b"words", signature)
        assert not signer.signed(pair.public, b"other words", signature)
        assert not signer.signed(other.public, b"words", signature)

    def test_halves_are_written_as_openssh_does(self, signer: SshSigner) -> None:
        pair = signer.make()
        assert pair.private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
        kind, body = pair.public.split()
        assert kind == "ssh-ed25519" and len(base64.b64decode(body)) == 51
        assert pair.private not in repr(pair)

    @pytest.mark.parametrize("signature", [b"", b"\0", b"\0" * 64, b"\0" * 65])
    def test_what_is_no_signature_is_not_known(self, signer: SshSigner, signature: bytes) -> None:
        assert not signer.signed(signer.make().public, b"words", signature)

    @pytest.mark.parametrize("half", ["", "{}", "no key"])
    def test_what_is_no_key_neither_signs_nor_knows(self, signer: SshSigner, half: str) -> None:
        with pytest.raises(Failed):
            signer.sign(half, b"words")
        assert not signer.signed(half, b"words", b"\0" * 64)
