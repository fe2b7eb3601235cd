"""A request id that is malformed counts as absent."""

import pytest

from atoll.wire.http.request_id import read_request_id


@pytest.mark.parametrize("text", ["a", "req-1", "0" * 128, "5f2c1e0a-77f4:web.1_x"])
def test_well_formed_request_id_is_kept(text: str) -> None:
    assert read_request_id(text) == text


@pytest.mark.parametrize(
    "text", [None, "", "a b", "a\n", "é", "0" * 129, "-a", "a;b", "a=b", '"', "a\x1b[31m", "<b>"]
)
def test_malformed_request_id_is_none(text: str | None) -> None:
    assert read_request_id(text) is None
