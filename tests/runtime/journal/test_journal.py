import os
from pathlib import Path

import pytest

from atoll.runtime.journal.journal import MAX_ENTRY_BYTES, Journal


def numbers(journal: Journal, after: int = 0, limit: int = 10_000) -> list[int]:
    return [entry.n for entry in journal.read(after, limit).entries]


def test_journal_reads_what_was_written_in_order_and_by_pages(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for at in range(1, 6):
        assert journal.append("kind", {"at": at}) == at
    assert numbers(journal) == [1, 2, 3, 4, 5]
    assert numbers(journal, 2, 2) == [3, 4]
    page = journal.read(0, 1)
    assert (page.last, page.dropped, page.entries[0].payload) == (5, 0, {"at": 1})
    assert page.entries[0].at.endswith("Z")
    journal.close()


def test_journal_acknowledged_forgets_and_never_hands_out_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for _ in range(10):
        journal.append("kind", {})
    journal.acknowledge(7)
    journal.acknowledge(3)
    assert numbers(journal) == [8, 9, 10]
    journal.acknowledge(10**9)
    assert numbers(journal) == []
    assert journal.append("kind", {}) == 11
    assert numbers(journal) == [11]
    journal.close()


def test_journal_of_a_process_that_died_is_read_on_and_numbers_go_on(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    for _ in range(3):
        first.append("kind", {})
    first.acknowledge(1)
    second = Journal(tmp_path)
    assert numbers(second) == [2, 3]
    assert second.append("kind", {}) == 4
    second.acknowledge(4)
    third = Journal(tmp_path)
    assert numbers(third) == []
    assert third.append("kind", {}) == 5
    for journal in (first, second, third):
        journal.close()


def test_journal_with_a_torn_last_line_passes_over_it(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    first.append("kind", {})
    (segment,) = tmp_path.glob("*.jsonl")
    with segment.open("ab") as file:
        file.write(b'{"n": 2, "at": "20')
    second = Journal(tmp_path)
    assert numbers(second) == [1]
    assert second.append("kind", {}) == 2
    assert numbers(second) == [1, 2]
    first.close()
    second.close()


def test_journal_beyond_its_bound_drops_the_oldest_and_counts_them(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 64 * 1024)
    for _ in range(2000):
        journal.append("kind", {"filler": "x" * 100})
    assert sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) <= 64 * 1024
    page = journal.read(0, 10_000)
    assert page.dropped == page.entries[0].n - 1 > 0
    assert page.entries[-1].n == page.last == 2000
    journal.acknowledge(2000)
    assert list(tmp_path.glob("*.jsonl")) == []
    journal.close()
    again = Journal(tmp_path, 64 * 1024)
    assert again.read(0, 1).dropped == page.dropped
    assert again.append("kind", {}) == 2001
    again.close()


def test_journal_entry_too_long_keeps_its_number_and_id(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append("kind", {"id": "x1", "much": "y" * MAX_ENTRY_BYTES})
    (entry,) = journal.read(0, 9).entries
    assert (entry.n, entry.payload["id"]) == (1, "x1")
    size = entry.payload["too_long"]
    assert isinstance(size, int) and size > MAX_ENTRY_BYTES
    journal.close()


def test_journal_on_a_disk_that_takes_nothing_goes_on_and_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append("kind", {})
    full = os.open("/dev/full", os.O_WRONLY)
    assert journal._log._newest is not None
    os.dup2(full, journal._log._newest._file)
    os.close(full)
    assert journal.append("kind", {}) == 2
    assert journal.read(0, 9).dropped == 1
    journal.close()


@pytest.mark.parametrize("content", [b"", b"{", b'{"acked":"x"}'])
def test_journal_with_a_broken_mark_starts_from_its_entries(tmp_path: Path, content: bytes) -> None:
    first = Journal(tmp_path)
    first.append("kind", {})
    first.close()
    (tmp_path / "mark.json").write_bytes(content)
    second = Journal(tmp_path)
    assert numbers(second) == [1]
    assert second.append("kind", {}) == 2
    second.close()
