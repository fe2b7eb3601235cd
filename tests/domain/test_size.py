import pytest

from atoll.domain.size import spelled_size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1536, "1.5 KiB"),
        (64 * 2**20, "64.0 MiB"),
        (3 * 2**30, "3.0 GiB"),
        (2**40, "1.0 TiB"),
        (15 * 2**50, "15360.0 TiB"),
    ],
)
def test_size_is_spelled_in_the_largest_unit(size: int, text: str) -> None:
    assert spelled_size(size) == text
