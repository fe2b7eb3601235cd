from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.terminals.mark import MAX_CHARACTERS, MarkLog
from atoll.wire.contract.recordings import Mark
from atoll.wire.words.terminals import MAX_MARKS

VERBS = st.tuples(st.sampled_from("ABCDEP"), st.sampled_from(["", "0", "7", "cd x"]), st.booleans())


def run(log: MarkLog, *signals: tuple[str, str], genuine: bool = True, begin: int = 0) -> None:
    for number, (verb, text) in enumerate(signals, begin):
        log.take(verb, text, offset=number * 10, genuine=genuine, now=100.0 + number)


def test_command_has_line_folder_time_and_exit_code() -> None:
    log = MarkLog()
    run(log, ("P", "/w"), ("A", ""), ("E", "make"), ("C", ""), ("D", "2"))
    (mark,) = log.all()
    assert (mark.command, mark.cwd, mark.exit_code, mark.seconds) == ("make", "/w", 2, 1.0)
    assert (mark.prompt, mark.output, mark.end, mark.state) == (10, 30, 40, "done")
    assert mark.started_at == "1970-01-01T00:01:43.000Z"
    assert log.at(35) == mark
    assert log.at(5) is None


def test_folder_counts_only_from_the_terminals_own_shell() -> None:
    log = MarkLog()
    run(log, ("P", "/forged"), genuine=False)
    assert log.cwd == ""
    run(log, ("P", "/w"))
    assert log.cwd == "/w"


def test_forged_marks_are_ignored_once_the_shell_has_sworn() -> None:
    log = MarkLog()
    run(log, ("E", "forged"), ("C", ""), genuine=False)
    assert log.all()[0].genuine is False
    run(log, ("A", ""), ("E", "real"), ("C", ""), begin=10)
    run(log, ("D", "0"), ("E", "rm -rf /"), ("C", ""), genuine=False, begin=20)
    assert [(mark.command, mark.state) for mark in log.all()] == [
        ("forged", "done"),
        ("real", "running"),
    ]


def test_command_nobody_ended_is_done_with_no_exit_code() -> None:
    log = MarkLog()
    run(log, ("E", "a"), ("C", ""), ("C", "b"), ("A", ""))
    assert [(m.command, m.state, m.exit_code) for m in log.all()] == [
        ("a", "done", None),
        ("b", "done", None),
    ]


def test_marks_stay_within_their_bounds() -> None:
    log = MarkLog()
    for number in range(MAX_MARKS + 50):
        run(log, ("E", "x" * 1000), ("C", ""), ("D", "0"), begin=number * 3)
    assert sum(len(mark.command) for mark in log.all()) <= MAX_CHARACTERS
    assert len(log.all()) + log.dropped == MAX_MARKS + 50


@given(st.lists(st.lists(VERBS, max_size=8), max_size=10))
def test_reader_that_asks_with_seq_has_what_the_log_has(
    batches: list[list[tuple[str, str, bool]]],
) -> None:
    log, seq = MarkLog(), 0
    mine: dict[int, Mark] = {}
    for batch in batches:
        for verb, text, genuine in batch:
            code = text if verb != "D" or text.isdigit() else ""
            log.take(verb, code, offset=0, genuine=genuine, now=0.0)
        for mark in log.since(seq):
            mine[mark.n], seq = mark, mark.seq
        assert seq == log.seq
    assert list(mine.values()) == sorted(log.all(), key=lambda mark: mark.n)


def test_commands_from_an_offset_are_those_whose_output_reaches_it() -> None:
    log = MarkLog()
    for n, verb in enumerate("ACDACD"):
        log.take(verb, "", offset=10 * n, genuine=False, now=0.0)
    assert [mark.n for mark in log.from_offset(0)] == [1, 2]
    assert [mark.n for mark in log.from_offset(21)] == [2]
    assert not log.genuine
    log.take("A", "", offset=60, genuine=True, now=0.0)
    assert log.genuine


def test_reader_gets_what_changed_since_its_number_in_order() -> None:
    log = MarkLog()
    run(log, ("C", "a"), ("C", "b"))
    first, second = log.all()
    assert log.since(0) == [first, second]
    assert log.since(first.seq) == [second]
    assert log.since(log.seq) == []


def test_signal_that_changes_nothing_says_so() -> None:
    log = MarkLog()
    assert not log.take("B", "", offset=0, genuine=True, now=0.0)
    assert not log.take("E", "make", offset=0, genuine=True, now=0.0)
