"""The record of what was spent: written in place while it fits a page, and whole at any moment."""

import json
from pathlib import Path

from atoll.runtime.doors.broker.spending import PAGE_BYTES, Spending


def test_amounts_are_read_back_however_many_there_are(tmp_path: Path) -> None:
    path = tmp_path / "spent.json"
    spending = Spending(path)
    many = {f"lease:bud_{number}:2026-12-31:sb_1:1": number + 1 for number in range(200)}
    for amounts in ({"openai": 10**15}, {"openai": 7}, many, {**many, "openai": 8}, {"openai": 9}):
        spending.keep(amounts)
        assert json.loads(path.read_bytes()) == Spending(path).kept == amounts
    spending.close()
    spending.keep({"openai": 10})
    assert Spending(path).kept == {"openai": 10}
    spending.close()


def test_amounts_of_a_page_are_written_in_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "spent.json"
    spending = Spending(path)
    spending.keep({"openai": 1})
    file = path.stat()
    for micros in range(2, 100):
        spending.keep({"openai": micros, "anthropic": 10 ** (micros % 15)})
    assert (path.stat().st_ino, path.stat().st_size) == (file.st_ino, PAGE_BYTES)
    assert [each.name for each in tmp_path.iterdir()] == ["spent.json"]
    spending.close()
