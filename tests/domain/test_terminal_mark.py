"""Commands of a terminal, told by its shell or by whoever else prints there."""

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.terminal.mark import MAX_CHARACTERS, MAX_MARKS, MarkLog

NOW = 1_800_000_000.0


class Shell:
    """Something that prints marks, one byte each, a second apart."""

    def __init__(self, log: MarkLog, *, genuine: bool = True) -> None:
        self.log, self.genuine = log, genuine
        self.offset = 0

    def says(self, verb: str, text: str = "") -> bool:
        self.offset += 1
        return self.log.take(
            verb, text, offset=self.offset, genuine=self.genuine, now=NOW + self.offset
        )

    def runs(self, line: str, code: str = "0") -> None:
        for verb, text in (("P", "/w"), ("A", ""), ("B", ""), ("E", line), ("C", ""), ("D", code)):
            self.says(verb, text)


def test_command_is_marked_from_its_prompt_to_its_end() -> None:
    log = MarkLog()
    shell = Shell(log)
    for verb, text in (("P", "/w"), ("A", ""), ("B", ""), ("E", "ls")):
        assert not shell.says(verb, text)
    assert shell.says("C")
    (running,) = log.all()
    assert (running.state, running.exit_code, running.end, running.seconds) == (
        "running", None, None, None,
    )  # fmt: skip
    assert shell.says("D", "2")
    (done,) = log.all()
    assert (done.n, done.command, done.cwd, done.exit_code) == (1, "ls", "/w", 2)
    assert (done.prompt, done.output, done.end, done.seconds) == (2, 5, 6, 1.0)
    assert done.started_at == "2027-01-15T08:00:05.000Z"
    assert done.genuine and done.state == "done"
    assert not shell.says("D", "0")
    assert not shell.says("Z")


def test_command_without_a_word_of_its_end_ends_with_the_next_prompt_or_command() -> None:
    log = MarkLog()
    shell = Shell(log)
    shell.says("C", "first")
    shell.says("A")
    shell.says("C", "second")
    shell.says("C", "third")
    assert [(m.command, m.state, m.exit_code) for m in log.all()] == [
        ("first", "done", None),
        ("second", "done", None),
        ("third", "running", None),
    ]


def test_reader_gets_what_changed_and_finds_the_command_at_an_offset() -> None:
    log = MarkLog()
    shell = Shell(log)
    shell.runs("one")
    seen = log.seq
    shell.says("A")
    shell.says("C", "two")
    assert [m.command for m in log.since(0)] == ["one", "two"]
    assert [m.command for m in log.since(seen)] == ["two"]
    assert log.since(log.seq) == []
    at = [log.at(offset) for offset in (0, 2, 6, 7, 99)]
    assert [m and m.command for m in at] == [None, "one", "one", "two", "two"]


def test_shell_that_knows_the_nonce_silences_everybody_else() -> None:
    log = MarkLog()
    forger = Shell(log, genuine=False)
    forger.says("E", "forged line")
    forger.says("A")
    shell = Shell(log)
    assert shell.says("C", "real")
    assert not forger.says("D", "0")
    assert not forger.says("C", "rm -rf /")
    (mark,) = log.all()
    assert (mark.command, mark.state, mark.genuine) == ("real", "running", True)


def test_marks_before_any_genuine_one_are_hints() -> None:
    log = MarkLog()
    Shell(log, genuine=False).runs("fish says")
    assert [(m.command, m.genuine) for m in log.all()] == [("fish says", False)]


def test_oldest_marks_fall_out_and_are_counted() -> None:
    log = MarkLog()
    shell = Shell(log)
    for number in range(MAX_MARKS + 3):
        shell.runs(f"{number}")
    assert (len(log.all()), log.dropped, log.all()[0].command) == (MAX_MARKS, 3, "3")
    for number in range(100):
        shell.runs(f"{number}" + "x" * 5000)
    assert sum(len(m.command) + len(m.cwd) for m in log.all()) <= MAX_CHARACTERS
    assert all(len(m.command) <= 2000 for m in log.all())


@given(st.lists(st.tuples(st.sampled_from("ABCDEP"), st.sampled_from(["", "1", "x"]),
                          st.booleans()), max_size=40))  # fmt: skip
def test_reader_of_changes_ends_with_every_mark(
    signals: list[tuple[str, str, bool]],
) -> None:
    log, known, seen = MarkLog(), {}, 0
    for at, (verb, text, genuine) in enumerate(signals):
        text = "" if verb == "D" and text == "x" else text
        before = log.seq
        changed = log.take(verb, text, offset=at, genuine=genuine, now=NOW + at)
        assert changed == (log.seq > before)
        known.update({mark.n: mark for mark in log.since(seen)})
        seen = log.seq
    assert list(known.values()) == log.all()
    assert sum(mark.state == "running" for mark in log.all()) <= 1
