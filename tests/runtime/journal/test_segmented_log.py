"""The log below the journal and the spools: what each policy keeps, over deaths and full disks."""

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from atoll.runtime.journal.line_file import LineFile
from atoll.runtime.journal.segmented_log import Overflow, SegmentedLog

BYTES = 4096
EACH = pytest.mark.parametrize("overflow", Overflow)


class Entry(msgspec.Struct, frozen=True):
    n: int
    filler: str = ""


Log = SegmentedLog[Entry]


def opened(folder: Path, overflow: Overflow, max_bytes: int = BYTES) -> Log:
    return SegmentedLog(folder, Entry, max_bytes, overflow)


def die(log: Log) -> None:
    """Let go of the descriptor, as a sudden death does, and write nothing more."""
    if log._newest is not None:
        log._newest.close()


def add(log: Log, length: int = 10) -> int:
    return log.append(msgspec.json.encode(Entry(log.last + 1, "x" * length)))


def numbers(log: Log, after: int = 0, limit: int = 10_000) -> list[int]:
    return [entry.n for entry in log.read(after, limit)]


def disk_full(*_: object, **__: object) -> int:
    raise OSError(28, "No space left on device")


@EACH
def test_log_of_a_process_that_died_goes_on_in_its_segment(
    overflow: Overflow, tmp_path: Path
) -> None:
    for n in range(1, 40):
        log = opened(tmp_path, overflow)
        assert add(log) == n
        die(log)
    log = opened(tmp_path, overflow)
    assert numbers(log) == list(range(1, 40))
    assert len(list(tmp_path.glob("*.jsonl"))) < 20
    assert log.dropped == 0


@EACH
def test_segments_that_a_death_left_after_their_acknowledgement_go(
    overflow: Overflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opened(tmp_path, overflow)
    while not log.full:
        add(log, 200)
        if overflow is Overflow.DROP_OLDEST and log.dropped:
            break
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", disk_full)
        with pytest.raises(OSError, match="space"):
            log.acknowledge(log.last)
    after = opened(tmp_path, overflow)
    assert (after.full, numbers(after), list(tmp_path.glob("*.jsonl"))) == (False, [], [])
    assert add(after) == log.last + 1


@EACH
def test_acknowledgement_that_is_not_on_disk_removes_nothing(
    overflow: Overflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opened(tmp_path, overflow)
    add(log)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", disk_full)
        with pytest.raises(OSError, match="space"):
            log.acknowledge(1)
    assert numbers(opened(tmp_path, overflow)) == [1]
    log.acknowledge(1)
    assert numbers(opened(tmp_path, overflow)) == []


def test_log_that_waits_has_no_gap_after_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opened(tmp_path, Overflow.WAIT)
    with monkeypatch.context() as patch:
        patch.setattr(LineFile, "append", disk_full)
        with pytest.raises(OSError, match="space"):
            add(log)
    assert (add(log), numbers(log), log.dropped) == (1, [1], 0)


def test_log_that_drops_counts_what_a_full_disk_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opened(tmp_path, Overflow.DROP_OLDEST)
    with monkeypatch.context() as patch:
        patch.setattr(LineFile, "append", disk_full)
        assert add(log) == 1
    assert (add(log), numbers(log), log.dropped) == (2, [2], 1)


def test_log_that_waits_keeps_all_and_says_when_it_is_full(tmp_path: Path) -> None:
    log = opened(tmp_path, Overflow.WAIT)
    for n in range(1, 100):
        assert add(log, 100) == n
    assert log.full
    assert numbers(log) == list(range(1, 100))
    assert numbers(log, 50, 3) == [51, 52, 53]
    assert [entry.n for entry in log.read(0, 100, max_bytes=1)] == [1]
    log.acknowledge(99)
    assert not log.full


@pytest.mark.parametrize(
    ("overflow", "kept"), [(Overflow.WAIT, None), (Overflow.DROP_OLDEST, [1, 3])]
)
def test_unreadable_line_is_an_error_where_nothing_may_be_dropped(
    overflow: Overflow, kept: list[int] | None, tmp_path: Path
) -> None:
    log = opened(tmp_path, overflow)
    add(log)
    log.append(b"{")
    add(log)
    if kept is not None:
        assert numbers(log) == kept
        return
    with pytest.raises(msgspec.MsgspecError):
        numbers(log)


@EACH
def test_entry_larger_than_a_segment_is_read_again(overflow: Overflow, tmp_path: Path) -> None:
    log = opened(tmp_path, overflow)
    for length in (10, 2000, 10):
        add(log, length)
    assert [len(entry.filler) for entry in opened(tmp_path, overflow).read(0, 9)] == [10, 2000, 10]


@EACH
@pytest.mark.parametrize("seed", range(20))
def test_log_is_what_its_writer_wrote_whatever_happens(
    overflow: Overflow, seed: int, tmp_path: Path
) -> None:
    """Deaths with a torn line, acknowledgements and large entries, in any order."""
    chance = random.Random(seed)
    log = opened(tmp_path, overflow)
    written = acked = 0

    def append() -> None:
        nonlocal written
        written += 1
        assert add(log, chance.choice((5, 50, 700))) == written

    def acknowledge() -> None:
        nonlocal acked
        acked = max(acked, chance.randint(0, written))
        log.acknowledge(acked)

    def tear() -> None:
        nonlocal log
        die(log)
        if segments := sorted(tmp_path.glob("*.jsonl")):
            with segments[-1].open("ab") as file:
                file.write(b'{"n":9')
        log = opened(tmp_path, overflow)

    acts: list[Callable[[], None]] = [append, append, append, append, acknowledge, tear]
    for _ in range(200):
        chance.choice(acts)()
        there = numbers(log)
        size = sum(path.stat().st_size for path in tmp_path.glob("*.jsonl"))
        if overflow is Overflow.WAIT:
            assert there == list(range(acked + 1, written + 1))
        else:
            assert there == list(range(written - len(there) + 1, written + 1))
            assert size <= BYTES + len(b'{"n":9')
            assert log.dropped or len(there) == written - acked
        assert log.last == written
