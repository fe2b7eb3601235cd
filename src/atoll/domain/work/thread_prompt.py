"""The prompt that review threads become when they are sent to an agent. Pure.

Everything in it is printable: a prompt may be typed at a terminal.
"""

from collections.abc import Sequence
from typing import Final

from atoll.domain.unseen import spell_unseen
from atoll.domain.work.thread import Remark, ReviewThread
from atoll.wire.words.library import Side

MAX_QUOTED_CHARS: Final = 200
"""The characters of a line that are quoted."""

_TAB: Final = " " * 4


def spell_threads(threads: Sequence[ReviewThread], roots: Sequence[str]) -> str:
    """Return threads as one prompt, by file and line. `roots` are the paths of the sandbox's
    repositories: with several, each file is named below its own."""
    several = len(roots) > 1
    parts = [
        _spell_thread(thread, roots[thread.anchor.repo] if several else "")
        for thread in sorted(threads, key=_order)
    ]
    many = "this review comment" if len(threads) == 1 else f"these {len(threads)} review comments"
    return "\n\n".join((f"Please address {many} on your changes.", *parts))


def _order(thread: ReviewThread) -> tuple[int, str, int]:
    anchor = thread.anchor
    return anchor.repo, anchor.path, anchor.line


def _spell_thread(thread: ReviewThread, root: str) -> str:
    anchor = thread.anchor
    path = "/".join(part for part in (root, anchor.path) if part)
    where = spell_unseen(path) or "The whole change"
    if anchor.line:
        where += f":{anchor.line}"
    if anchor.line and anchor.side is Side.OLD:
        where += " (a line that was removed)"
    quoted = [f"> {spell_unseen(line.strip()[:MAX_QUOTED_CHARS])}" for line in anchor.lines]
    named = len({remark.author.id for remark in thread.remarks}) > 1
    return "\n".join((where, *quoted, *(_spell_remark(remark, named) for remark in thread.remarks)))


def _spell_remark(remark: Remark, named: bool) -> str:
    text = remark.text.replace("\t", _TAB)
    if not named:
        return text
    return f"{spell_unseen(remark.author.name or remark.author.id)}: {text}"
