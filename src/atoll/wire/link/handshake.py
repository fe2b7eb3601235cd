"""The first bytes of each connection: both ends prove that they hold the sandbox's link key.

The near end sends `Hello`, the far end `Challenge` with its proof, the near end `Proof`. Each proof
is an HMAC-SHA256 over everything said before it, so a recorded one fits no other connection.
"""

import hashlib
import hmac
import struct
from dataclasses import dataclass
from enum import IntEnum

VERSION = 1
KEY_BYTES = 32
NONCE_BYTES = 16
PROOF_BYTES = 32

HELLO_MAGIC = b"ATLK"
CHALLENGE_MAGIC = b"atlk"

_HELLO = struct.Struct("<4sB3xQ16s")
_CHALLENGE = struct.Struct("<4s16sBB2xQ16sQ")
_RECEIVED = struct.Struct("<Q")

HELLO_BYTES = _HELLO.size
CHALLENGE_BYTES = _CHALLENGE.size + PROOF_BYTES
ANSWER_BYTES = _RECEIVED.size + PROOF_BYTES


class Continuation(IntEnum):
    """The far end's state for this near end."""

    FRESH = 0
    """No near end was ever there."""

    RESUMED = 1
    """The same near end returns: both streams continue where they stopped."""

    TAKEN_OVER = 2
    """Another near end was there: both streams begin at 0, and programs still run."""


class Unproven(ValueError):
    """A handshake of another program, of another version, or without the key."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The near end's first message. `incarnation` names one runtime process."""

    incarnation: int
    nonce: bytes

    def encode(self) -> bytes:
        """Return the message's bytes."""
        return _HELLO.pack(HELLO_MAGIC, VERSION, self.incarnation, self.nonce)


@dataclass(frozen=True, slots=True)
class Challenge:
    """The far end's answer. `life` names one far process, `received` is how many bytes of the near
    end's stream it has."""

    near_nonce: bytes
    continuation: Continuation
    life: int
    nonce: bytes
    received: int

    def encode(self) -> bytes:
        """Return the message's bytes, without the proof."""
        return _CHALLENGE.pack(
            CHALLENGE_MAGIC,
            self.near_nonce,
            VERSION,
            self.continuation,
            self.life,
            self.nonce,
            self.received,
        )


def decode_hello(data: bytes) -> Hello:
    """Return the near end's first message. Raises `Unproven`."""
    try:
        magic, version, incarnation, nonce = _HELLO.unpack(data)
    except struct.error as error:
        raise Unproven("a hello has another length") from error
    if magic != HELLO_MAGIC or version != VERSION:
        raise Unproven("the near end is no link, or one of another version")
    return Hello(incarnation, nonce)


def encode_challenge(key: bytes | bytearray, hello: Hello, challenge: Challenge) -> bytes:
    """Return the far end's answer and its proof."""
    body = challenge.encode()
    return body + _proof(key, b"far", hello.encode() + body)


def decode_challenge(key: bytes, hello: Hello, data: bytes) -> Challenge:
    """Return the far end's answer, once its proof is right. Raises `Unproven`."""
    try:
        fields = _CHALLENGE.unpack(data[: _CHALLENGE.size])
        _, near_nonce, version, continuation, life, nonce, received = fields
        challenge = Challenge(near_nonce, Continuation(continuation), life, nonce, received)
    except (struct.error, ValueError) as error:
        raise Unproven("the far end's answer is malformed") from error
    body, proof = data[: _CHALLENGE.size], data[_CHALLENGE.size :]
    expected = _proof(key, b"far", hello.encode() + body)
    if version != VERSION or near_nonce != hello.nonce or not hmac.compare_digest(proof, expected):
        raise Unproven("the far end does not hold this sandbox's link key")
    return challenge


def encode_answer(key: bytes, hello: Hello, challenge: Challenge, received: int) -> bytes:
    """Return the near end's last message: its `received`, and the proof."""
    body = _RECEIVED.pack(received)
    return body + _proof(key, b"near", hello.encode() + challenge.encode() + body)


def decode_answer(key: bytes | bytearray, hello: Hello, challenge: Challenge, data: bytes) -> int:
    """Return the near end's `received`, once its proof is right. Raises `Unproven`."""
    body, proof = data[: _RECEIVED.size], data[_RECEIVED.size :]
    expected = _proof(key, b"near", hello.encode() + challenge.encode() + body)
    if len(body) != _RECEIVED.size or not hmac.compare_digest(proof, expected):
        raise Unproven("the near end does not hold this sandbox's link key")
    received: int = _RECEIVED.unpack(body)[0]
    return received


def _proof(key: bytes | bytearray, side: bytes, said: bytes) -> bytes:
    return hmac.new(key, side + said, hashlib.sha256).digest()
