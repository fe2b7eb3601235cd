"""Review threads: what people say about lines of a sandbox's change, and who may do what. Pure.

Whoever sees the sandbox reads them; the callers that `check_may_manage` lets pass write. A thread
is resolved, opened again and sent to an agent any number of times; its last time is kept.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NewType

from atoll.domain.errors import Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, TerminalId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox, may_manage
from atoll.domain.unseen import spell_unseen
from atoll.domain.work.anchor import Anchor

ThreadId = NewType("ThreadId", str)
RemarkId = NewType("RemarkId", str)

MAX_THREADS: Final = 500
"""The threads of one sandbox, resolved ones among them."""

MAX_REMARKS: Final = 100
"""The remarks of one thread."""

MAX_REMARK_BYTES: Final = 16 * 1024
"""The bound on the text of a remark in bytes, once invisible characters are spelled."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A contribution of one person to a thread. `author_name` is how they were called then, so it
    stays theirs when they leave; `edited_at` is the last time that they changed it."""

    id: RemarkId
    author: PrincipalId
    author_name: str
    text: str
    at: datetime
    edited_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The settling of a thread: by whom, and when."""

    by: PrincipalId
    by_name: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ThreadSending:
    """The sending of a thread to the agent at a terminal. `turn` is which of its turns, None where
    that is not known."""

    terminal: TerminalId
    agent: str
    at: datetime
    turn: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewThread:
    """A thread. Its first remark opened it."""

    id: ThreadId
    sandbox_id: SandboxId
    org_id: OrgId
    anchor: Anchor
    remarks: tuple[Remark, ...]
    resolved: Resolution | None = None
    sent: ThreadSending | None = None


def read_remark(text: str) -> str:
    """Return the text of a remark without the blanks around it, invisible characters spelled.
    Raises `Invalid`."""
    words = spell_unseen(text.replace("\r\n", "\n").strip(), keep="\n\t")
    if not words:
        raise Invalid("a remark is not empty", field="text")
    if len(words.encode()) > MAX_REMARK_BYTES:
        raise Invalid(f"a remark has at most {MAX_REMARK_BYTES} bytes", field="text")
    return words


def check_room_for_thread(threads: int) -> None:
    """Check that a sandbox with so many threads takes another. Raises `LimitReached`."""
    if threads >= MAX_THREADS:
        raise LimitReached(f"the sandbox has {MAX_THREADS} review threads: delete some first")


def reply(thread: ReviewThread, remark: Remark) -> ReviewThread:
    """Return the thread with another remark. Raises `LimitReached`."""
    if len(thread.remarks) >= MAX_REMARKS:
        raise LimitReached(f"the thread has {MAX_REMARKS} remarks: open another")
    return replace(thread, remarks=(*thread.remarks, remark))


def reword(
    caller: Principal, thread: ReviewThread, ref: str, text: str, now: datetime
) -> ReviewThread:
    """Return the thread with a remark of the caller's in other words. Raises `NotFound`,
    `Forbidden` for one of somebody else, whoever asks, and `Invalid`."""
    before = _find(thread, ref)
    if before.author != caller.id:
        raise Forbidden("only the author of a remark may change it")
    after = replace(before, text=read_remark(text), edited_at=now)
    remarks = tuple(after if remark.id == before.id else remark for remark in thread.remarks)
    return replace(thread, remarks=remarks)


def withdraw(
    caller: Principal, sandbox: Sandbox, thread: ReviewThread, ref: str
) -> ReviewThread | None:
    """Return the thread without a remark; None where it was the only one. Its author may do so, and
    who manages the sandbox. Raises `NotFound` and `Forbidden`."""
    gone = _find(thread, ref)
    if gone.author != caller.id and not may_manage(caller, sandbox):
        raise Forbidden("only the author of a remark and who manages the sandbox may delete it")
    rest = tuple(remark for remark in thread.remarks if remark.id != gone.id)
    return replace(thread, remarks=rest) if rest else None


def unknown_thread(ref: str) -> NotFound:
    """Return the error for a thread that is not of the sandbox."""
    return NotFound(f"There is no review thread {ref[:80]!r} in this sandbox.")


def _find(thread: ReviewThread, ref: str) -> Remark:
    match = next((remark for remark in thread.remarks if remark.id == ref), None)
    if match is None:
        raise NotFound(f"There is no remark {ref[:80]!r} in this thread.")
    return match
