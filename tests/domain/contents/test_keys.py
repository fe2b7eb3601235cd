import pytest

from atoll.domain.contents.keys import ContentKeys

ONE, OTHER = ContentKeys(bytes(32)), ContentKeys(b"1" * 32)


def test_digests_are_equal_for_equal_bytes_under_one_key_alone() -> None:
    assert ONE.piece_digest(b"x") == ContentKeys(bytes(32)).piece_digest(memoryview(b"x"))
    assert len({ONE.piece_digest(b"x"), ONE.piece_digest(b"y"), OTHER.piece_digest(b"x")}) == 3
    assert len(ONE.piece_digest(b"")) == 16
    one, two = ONE.piece_digest(b"x"), ONE.piece_digest(b"y")
    assert len({ONE.bundle_digest([one, two]), ONE.bundle_digest([two, one]),
                OTHER.bundle_digest([one, two])}) == 3  # fmt: skip


def test_every_name_has_its_own_key() -> None:
    assert len({ONE.seal_key("a/1"), ONE.seal_key("a/2"), OTHER.seal_key("a/1")}) == 3
    assert len(ONE.seal_key("a/1")) == 32


def test_secret_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError):
        ContentKeys(b"short")
