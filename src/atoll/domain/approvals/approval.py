"""An approval: what something in a sandbox asked for, and what a person said to it.

It is bound to exactly what was shown: the digest of the shown lines goes out with them and
must come back with the answer. Everything asked is data from inside, so it is spelled out
(control, bidi and escape characters as `\\u202e`) and cut before anybody sees it. Pure.
"""

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from atoll.domain.approvals.unseen import code_of, is_unseen
from atoll.domain.errors import Conflict, Invalid
from atoll.domain.ids import ApprovalId, OrgId, PrincipalId, SandboxId
from atoll.domain.network.host import as_read

MAX_WORDS = 256
MAX_WORD = 4096
MAX_SHOWN = 2000
ASK_LIFE: Final = timedelta(hours=24)
"""How long a question about a secret stands; one about a command dies with its asker."""
COMMAND_LIFE: Final = timedelta(minutes=10)
COOLDOWN: Final = timedelta(minutes=15)
"""After a no, the same question is not put again for this long."""
ONCE_LIFE: Final = timedelta(minutes=10)
MAX_TTL: Final = timedelta(days=30)
MAX_PENDING = 20
"""Questions one sandbox may have open: what comes beyond is dropped, not queued."""


class Verdict(StrEnum):
    """Where an approval stands. Only `pending` can be decided, only `granted` revoked."""

    PENDING = "pending"
    GRANTED = "granted"
    USED = "used"
    DENIED = "denied"
    REVOKED = "revoked"
    EXPIRED = "expired"


class Reach(StrEnum):
    """How far a yes goes: one request, this sandbox, or every sandbox that has the secret."""

    ONCE = "once"
    SANDBOX = "sandbox"
    ORGANIZATION = "organization"


class SecretAsk(msgspec.Struct, frozen=True, tag="secret"):
    """A secret wants to go to a host its owner has not named."""

    secret: str
    secret_id: str
    version: int
    host: str
    port: int


class CommandAsk(msgspec.Struct, frozen=True, tag="command"):
    """A command wants a person's word before it runs: exactly this argv, in this folder."""

    argv: tuple[str, ...]
    cwd: str


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: a sandbox, and the question's own id in its runtime."""

    sandbox_id: SandboxId
    sandbox_name: str
    generation: int
    ask_id: str


@dataclass(frozen=True, slots=True)
class Approval:
    """One question and its answer. `owner` decides: whose secret, or whose sandbox it is.
    `until` is when a pending question or a given yes ends, None while nothing ends it; `times`
    counts how often it was asked."""

    id: ApprovalId
    org_id: OrgId
    owner: PrincipalId
    asker: Asker
    ask: SecretAsk | CommandAsk
    asked_at: datetime
    until: datetime | None
    verdict: Verdict = Verdict.PENDING
    reach: Reach | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Yes:
    """A person's yes: how far, for how long (None: the reach's own), and the digest of what
    they were shown."""

    reach: Reach
    ttl: timedelta | None
    shown: str


def spelled_out(text: str, limit: int = MAX_SHOWN) -> str:
    """`text` with everything that could move a cursor, turn the reading direction or hide
    spelled as `\\x1b`, `\\u202e`, and cut to `limit` characters, saying so. A backslash
    doubles, so that what is spelled cannot be imitated."""
    cut = text[:limit]
    shown = "".join(_spelled(char) for char in cut)
    return shown if cut == text else f"{shown}… ({len(text) - limit} characters more)"


def shown_lines(approval: Approval) -> tuple[str, ...]:
    """What a person is shown, line by line; every surface shows exactly these."""
    asker = approval.asker
    where = f"in sandbox {spelled_out(asker.sandbox_name)} ({asker.sandbox_id})"
    match approval.ask:
        case SecretAsk(secret, secret_id, version, host, port):
            return (
                f"Send secret {spelled_out(secret)} (version {version}, {secret_id})",
                f"to https://{_in_url(host)}:{port}",
                *_other_letters(host),
                where,
            )
        case CommandAsk(argv, cwd):  # pragma: no branch - the cases are all
            words = (f"  {number}: {spelled_out(word)}" for number, word in enumerate(argv))
            return ("Run this command, word by word:", *words, f"at {spelled_out(cwd)}", where)


def digest(approval: Approval) -> str:
    """Binds an answer to what was shown, to this question, and to the whole of what was asked
    (also where the shown text was cut). 64 hex digits."""
    parts = [approval.id, approval.asker.ask_id, str(approval.asker.generation)]
    match approval.ask:
        case SecretAsk(secret, secret_id, version, host, port):
            parts += ["secret", secret, secret_id, str(version), host, str(port)]
        case CommandAsk(argv, cwd):  # pragma: no branch - the cases are all
            parts += ["command", cwd, *argv]
    parts += shown_lines(approval)
    return hashlib.sha256(_framed(parts)).hexdigest()


def same_question(one: Approval, other: Approval) -> bool:
    """Whether both ask the same of the same person in the same sandbox."""
    return (
        one.ask == other.ask
        and one.owner == other.owner
        and one.asker.sandbox_id == other.asker.sandbox_id
    )


def granted(approval: Approval, yes: Yes, *, by: str, now: datetime) -> Approval:
    """The approval after a yes. Raises `Conflict` when it is not open or not what was shown,
    `Invalid` for a reach it cannot have."""
    _check_open(approval, now)
    if yes.shown != digest(approval):
        raise Conflict(
            f"What you were shown is not what {approval.id} asks: look at it again.",
            code="not_as_shown",
        )
    if isinstance(approval.ask, CommandAsk) and yes.reach is not Reach.ONCE:
        raise Invalid("a command is approved once, as it was shown", field="for")
    ttl = ONCE_LIFE if yes.ttl is None and yes.reach is Reach.ONCE else yes.ttl
    return replace(
        approval,
        verdict=Verdict.GRANTED,
        reach=yes.reach,
        until=None if ttl is None else now + min(ttl, MAX_TTL),
        decided_at=now,
        decided_by=by,
    )


def denied(approval: Approval, *, by: str, now: datetime) -> Approval:
    """The approval after a no; `until` is when the same may be asked again. Raises `Conflict`."""
    _check_open(approval, now)
    return replace(
        approval,
        verdict=Verdict.DENIED,
        until=now + COOLDOWN,
        decided_at=now,
        decided_by=by,
    )


def revoked(approval: Approval, *, reason: str, now: datetime) -> Approval:
    """The approval taken back. Raises `Conflict` when it does not hold."""
    if approval.verdict is not Verdict.GRANTED:
        raise Conflict(f"{approval.id} is {approval.verdict}: only a granted one can be revoked.")
    return replace(approval, verdict=Verdict.REVOKED, reason=reason, until=now)


def overtaken(approval: Approval, *, reason: str, now: datetime) -> Approval:
    """What an open or granted approval becomes when what it was about changed, or its time ran
    out; any other stays as it is."""
    match approval.verdict:
        case Verdict.PENDING:
            return replace(approval, verdict=Verdict.EXPIRED, reason=reason, until=now)
        case Verdict.GRANTED:
            return replace(approval, verdict=Verdict.REVOKED, reason=reason, until=now)
        case Verdict.USED | Verdict.DENIED | Verdict.REVOKED | Verdict.EXPIRED:  # pragma: no branch
            return approval


def holds(approval: Approval, now: datetime) -> bool:
    """Whether a yes still stands."""
    return approval.verdict is Verdict.GRANTED and not _over(approval, now)


def late(approval: Approval, now: datetime) -> bool:
    """Whether nobody decided while it was open."""
    return approval.verdict is Verdict.PENDING and _over(approval, now)


def silences(approval: Approval, now: datetime) -> bool:
    """Whether it keeps the same question from being put again: it is open, or was answered no
    a short while ago."""
    return approval.verdict in (Verdict.PENDING, Verdict.DENIED) and not _over(approval, now)


def check_command(argv: Sequence[str], cwd: str) -> CommandAsk:
    """A command as it may be asked about. Raises `Invalid`."""
    if not 0 < len(argv) <= MAX_WORDS or any(len(word) > MAX_WORD for word in (*argv, cwd)):
        raise Invalid(f"a command has 1 to {MAX_WORDS} words of at most {MAX_WORD} characters")
    return CommandAsk(tuple(argv), cwd)


def _check_open(approval: Approval, now: datetime) -> None:
    if approval.verdict is not Verdict.PENDING:
        raise Conflict(f"{approval.id} is {approval.verdict} already.", code="already_decided")
    if late(approval, now):
        raise Conflict(f"{approval.id} is too old to be decided.", code="already_decided")


def _over(approval: Approval, now: datetime) -> bool:
    return approval.until is not None and now >= approval.until


def _other_letters(host: str) -> tuple[str, ...]:
    """How a host reads whose name has letters beyond ASCII."""
    read = as_read(host)
    if read == host:
        return ()
    return (f"which reads {spelled_out(read)}, with letters that may look like others",)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _spelled(char: str) -> str:
    if char == "\\":
        return "\\\\"
    return code_of(char) if is_unseen(char) or _misleads(char) else char


def _misleads(char: str) -> bool:
    """Whether it is a space that is not one, or only changes what stands before."""
    variation = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    return variation or (char != " " and unicodedata.category(char) == "Zs")


def _framed(parts: Sequence[str]) -> bytes:
    """Parts that cannot be parted in another way: each with its length before it."""
    raw = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(one).to_bytes(4, "big") + one for one in raw)
