"""The prompt of review threads: by file and line, and without control characters."""

from dataclasses import replace
from datetime import UTC, datetime

from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.work.anchor import Anchor
from atoll.domain.work.thread import Author, Remark, RemarkId, ReviewThread, ThreadId
from atoll.domain.work.thread_prompt import MAX_QUOTED_CHARS, spell_threads
from atoll.wire.words.library import Side

AT = datetime(2026, 1, 1, tzinfo=UTC)
ANN, BOB = Author(PrincipalId("ann"), "Ann"), Author(PrincipalId("bob"), "")


def thread(anchor: Anchor, *texts: str) -> ReviewThread:
    remarks = tuple(Remark(RemarkId(text), ANN, text, AT) for text in texts)
    box = SandboxId("sb_1")
    return ReviewThread(ThreadId("thr_1"), box, PERSONAL_ORG, anchor, AT, remarks)


def test_threads_are_in_the_order_of_their_places() -> None:
    threads = [
        thread(Anchor(0, "b.py", Side.NEW, 3, (" x\x1b[2J = 1", "y")), "use y\n\tplease"),
        thread(Anchor(0, "a.py", Side.OLD, 9, ("gone",)), "keep it"),
        thread(Anchor(0, "a.py", Side.NEW, 0), "split"),
        thread(Anchor(0, "", Side.NEW, 0), "good"),
    ]
    assert spell_threads(threads, ["repo"]) == (
        "Please address these 4 review comments on your changes.\n\n"
        "The whole change\ngood\n\n"
        "a.py\nsplit\n\n"
        "a.py:9 (a line that was removed)\n> gone\nkeep it\n\n"
        "b.py:3\n> x\\x1b[2J = 1\n> y\nuse y\n    please"
    )


def test_files_of_several_repositories_are_named_below_theirs() -> None:
    two = [thread(Anchor(1, "a", Side.NEW, 0), "x"), thread(Anchor(0, "", Side.NEW, 0), "y")]
    said = spell_threads(two, ["front", "back"])
    assert said.endswith("changes.\n\nfront\ny\n\nback/a\nx")


def test_voices_are_named_where_there_are_several() -> None:
    one = thread(Anchor(0, "a\n\u202e", Side.NEW, 1, ("x" * 999,)), "why?")
    alone = spell_threads([one], ())
    assert alone.startswith("Please address this review comment on your changes.\n\na\\x0a\\u202e")
    assert alone.endswith(f"> {'x' * MAX_QUOTED_CHARS}\nwhy?")
    reply = Remark(RemarkId("rmk_2"), BOB, "so", AT)
    assert spell_threads([replace(one, remarks=(*one.remarks, reply))], ()).endswith(
        "Ann: why?\nbob: so"
    )
