"""Pages of rows."""

from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.paging import PageQuery, Place, RowPage, cut_page

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def place(row: int) -> Place:
    return NOW + timedelta(seconds=row), str(row)


def test_page_names_the_place_of_its_last_row_while_more_follow() -> None:
    assert cut_page([3, 2, 1], 2, place) == RowPage([3, 2], place(2))


@pytest.mark.parametrize("rows", [[], [1], [2, 1]])
def test_last_page_names_no_place(rows: list[int]) -> None:
    assert cut_page(rows, PageQuery(2).limit, place) == RowPage(rows)
