"""The first bytes of a link: both ends prove the key, and nothing else passes."""

import pytest

from atoll.wire.link.handshake import (
    ANSWER_BYTES,
    CHALLENGE_BYTES,
    HELLO_BYTES,
    VERSION,
    Challenge,
    Continuation,
    Hello,
    Unproven,
    decode_answer,
    decode_challenge,
    decode_hello,
    encode_answer,
    encode_challenge,
)

KEY = b"k" * 32
HELLO = Hello(2**63 + 5, b"n" * 16)
CHALLENGE = Challenge(HELLO.nonce, Continuation.RESUMED, 77, b"f" * 16, 2**40)


def test_three_messages_have_their_lengths_and_come_back() -> None:
    hello, challenge = HELLO.encode(), encode_challenge(KEY, HELLO, CHALLENGE)
    answer = encode_answer(KEY, HELLO, CHALLENGE, 2**41)
    lengths = (len(hello), len(challenge), len(answer))
    assert lengths == (HELLO_BYTES, CHALLENGE_BYTES, ANSWER_BYTES) == (32, 88, 40)
    assert decode_hello(hello) == HELLO
    assert decode_challenge(KEY, HELLO, challenge) == CHALLENGE
    assert decode_answer(KEY, HELLO, CHALLENGE, answer) == 2**41


@pytest.mark.parametrize(
    "data", [b"", b"x" * 32, HELLO.encode() + b"x", HELLO.encode()[:-1], b"ATLK\x09" + b"\0" * 27]
)
def test_hello_of_another_program_is_unproven(data: bytes) -> None:
    with pytest.raises(Unproven):
        decode_hello(data)


@pytest.mark.parametrize("at", range(CHALLENGE_BYTES))
def test_challenge_with_any_byte_changed_is_unproven(at: int) -> None:
    good = encode_challenge(KEY, HELLO, CHALLENGE)
    changed = good[:at] + bytes((good[at] ^ 1,)) + good[at + 1 :]
    # The magic is what a near end looks for; all else is proven or compared.
    with pytest.raises(Unproven):
        decode_challenge(KEY, HELLO, changed)


def test_challenge_of_another_key_version_or_connection_is_unproven() -> None:
    other = Hello(HELLO.incarnation, b"o" * 16)
    for key, hello in ((b"x" * 32, HELLO), (KEY, other)):
        with pytest.raises(Unproven, match="key"):
            decode_challenge(key, hello, encode_challenge(KEY, HELLO, CHALLENGE))
    with pytest.raises(Unproven, match="malformed"):
        decode_challenge(KEY, HELLO, b"short")
    assert VERSION == 1


@pytest.mark.parametrize("at", range(ANSWER_BYTES))
def test_answer_with_any_byte_changed_is_unproven(at: int) -> None:
    good = encode_answer(KEY, HELLO, CHALLENGE, 5)
    changed = good[:at] + bytes((good[at] ^ 128,)) + good[at + 1 :]
    with pytest.raises(Unproven):
        decode_answer(KEY, HELLO, CHALLENGE, changed)


def test_recorded_answer_fits_no_other_connection() -> None:
    recorded = encode_answer(KEY, HELLO, CHALLENGE, 5)
    later = Challenge(HELLO.nonce, Continuation.RESUMED, 77, b"g" * 16, 2**40)
    for data in (recorded, b""):
        with pytest.raises(Unproven):
            decode_answer(KEY, HELLO, later, data)
