"""Review threads: what people say about lines of a sandbox's change, and who may do what. Pure.

Whoever reads the sandbox's files reads them; the people whom `check_may_comment` lets pass write.
A thread is resolved, opened again and sent to an agent any number of times; its last time is kept.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NewType

from atoll.domain.errors import Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, TerminalId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox, may_manage
from atoll.domain.unseen import spell_unseen
from atoll.domain.work.anchor import Anchor
from atoll.wire.words.events import ActorKind
from atoll.wire.words.library import MAX_REMARK_BYTES, MAX_THREADS

ThreadId = NewType("ThreadId", str)
RemarkId = NewType("RemarkId", str)

MAX_REMARKS: Final = 100
"""The remarks of one thread."""

MAX_THREAD_BYTES: Final = 2 * MAX_REMARK_BYTES
"""The bound on the text of all remarks of a thread in bytes."""


@dataclass(frozen=True, slots=True)
class Author:
    """A person who did something with a thread. `name` is how they were called then, so it stays
    theirs when they leave; empty where they had none."""

    id: PrincipalId
    name: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A contribution of one person to a thread. `edited_at` is the last time that they changed
    it."""

    id: RemarkId
    author: Author
    text: str
    at: datetime
    edited_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The settling of a thread: by whom, and when."""

    by: Author
    at: datetime


@dataclass(frozen=True, slots=True)
class ThreadSending:
    """The sending of a thread to the agent at a terminal."""

    by: Author
    terminal: TerminalId
    agent: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReviewThread:
    """A thread. It has at least one remark."""

    id: ThreadId
    sandbox_id: SandboxId
    org_id: OrgId
    anchor: Anchor
    opened_at: datetime
    remarks: tuple[Remark, ...]
    resolved: Resolution | None = None
    sent: ThreadSending | None = None


def author_of(caller: Principal) -> Author:
    """Return the caller as they are noted in a thread."""
    return Author(caller.id, caller.name)


def check_may_comment(caller: Principal) -> None:
    """Check that the caller may write in the threads of a sandbox that they see: people who may
    write its files. What runs inside a sandbox says nothing in its owner's name. Raises
    `Forbidden`."""
    if caller.guest_access is not None or not caller.may(Capability.FILE_WRITE):
        raise Forbidden("only members who work in the sandbox write in its review")
    if caller.kind is ActorKind.AGENT:
        raise Forbidden("what runs inside a sandbox writes nothing in its review")


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
    return _with_remarks(thread, (*thread.remarks, remark))


def reword(
    caller: Principal, thread: ReviewThread, ref: str, text: str, now: datetime
) -> ReviewThread:
    """Return the thread with a remark of the caller's in other words. Raises `NotFound`,
    `Forbidden` for one of somebody else, whoever asks, `Invalid`, and `LimitReached`."""
    before = _find(thread, ref)
    if before.author.id != caller.id:
        raise Forbidden("only the author of a remark may change it")
    words = read_remark(text)
    if words == before.text:
        return thread
    after = replace(before, text=words, edited_at=now)
    return _with_remarks(
        thread, tuple(after if remark.id == before.id else remark for remark in thread.remarks)
    )


def withdraw(
    caller: Principal, sandbox: Sandbox, thread: ReviewThread, ref: str
) -> ReviewThread | None:
    """Return the thread without a remark; None where it was the only one. Its author may do so, and
    who manages the sandbox. Raises `NotFound` and `Forbidden`."""
    gone = _find(thread, ref)
    if gone.author.id != caller.id and not may_manage(caller, sandbox):
        raise Forbidden("only the author of a remark and who manages the sandbox may delete it")
    rest = tuple(remark for remark in thread.remarks if remark.id != gone.id)
    return replace(thread, remarks=rest) if rest else None


def resolve(thread: ReviewThread, resolution: Resolution) -> ReviewThread:
    """Return the thread as settled; one that is settled stays so as it is."""
    return thread if thread.resolved is not None else replace(thread, resolved=resolution)


def reopen(thread: ReviewThread) -> ReviewThread:
    """Return the thread as open again; it waits to be sent, too."""
    return thread if thread.resolved is None else replace(thread, resolved=None, sent=None)


def mark_as_sent(thread: ReviewThread, sending: ThreadSending) -> ReviewThread:
    """Return the thread as an agent has it."""
    return replace(thread, sent=sending)


def is_unsent(thread: ReviewThread) -> bool:
    """Report whether an open thread says something that no agent has received."""
    if thread.resolved is not None:
        return False
    sent = thread.sent
    return sent is None or any(
        (remark.edited_at or remark.at) > sent.at for remark in thread.remarks
    )


def unknown_thread(ref: str) -> NotFound:
    """Return the error for a thread that is not of the sandbox."""
    return NotFound(f"There is no review thread {ref[:80]!r} in this sandbox.")


def _with_remarks(thread: ReviewThread, remarks: tuple[Remark, ...]) -> ReviewThread:
    if sum(len(remark.text.encode()) for remark in remarks) > MAX_THREAD_BYTES:
        raise LimitReached(
            f"the remarks of a thread have at most {MAX_THREAD_BYTES} bytes: open another"
        )
    return replace(thread, remarks=remarks)


def _find(thread: ReviewThread, ref: str) -> Remark:
    match = next((remark for remark in thread.remarks if remark.id == ref), None)
    if match is None:
        raise NotFound(f"There is no remark {ref[:80]!r} in this thread.")
    return match
