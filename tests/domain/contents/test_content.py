from atoll.domain.contents.content import (
    ContentId,
    Verification,
    damaged_error,
    missing_content,
)


def test_content_is_whole_without_damage() -> None:
    assert Verification(ContentId("ct_a"), 3).is_whole
    assert not Verification(ContentId("ct_a"), 3, ("a/1",)).is_whole


def test_errors_name_the_content() -> None:
    error = damaged_error(ContentId("ct_a"), "a part is missing")
    assert (
        error.code == "content_damaged" and "ct_a" in error.message and "missing" in error.message
    )
    assert "ct_b" in missing_content("ct_b").message
    assert len(missing_content("x" * 1000).message) < 200
