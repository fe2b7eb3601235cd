"""An approval: a request from inside a sandbox, and a person's decision.

The decision is bound to exactly what was shown: the digest of the shown lines goes out with them
and must come back with the decision. Everything in a request is data from inside. So control, bidi
and escape characters are spelled out (`\\u202e`), and long text is cut before anybody sees it.
Pure.
"""

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NewType, TypeAlias

import msgspec

from atoll.domain.errors import Conflict, Invalid
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.network.egress_rule import read_rule
from atoll.domain.network.host import as_read
from atoll.domain.unseen import code_of, is_unseen
from atoll.wire.words.approvals import ApprovalState, GrantScope

ApprovalId = NewType("ApprovalId", str)

MAX_WORDS = 256
MAX_WORD = 4096
MAX_SHOWN = 2000
ASK_LIFE: Final = timedelta(hours=24)
"""The life of a request about a secret; one about a command ends with its process."""
COMMAND_LIFE: Final = timedelta(minutes=10)
COOLDOWN: Final = timedelta(minutes=15)
"""The time after a denial in which the same request is not shown again."""
ONCE_LIFE: Final = timedelta(minutes=10)
MAX_TTL: Final = timedelta(days=30)
HOST_COOLDOWN: Final = timedelta(hours=24)
"""The same time for a host: programs try it again and again."""
MAX_PENDING = 20
"""The number of pending requests of one sandbox; further ones are dropped, not queued."""
MAX_PER_MINUTE = 5
"""The number of new requests of one sandbox in a minute; further ones are dropped as well."""
MAX_HOSTS = 5
"""The number of pending requests for hosts, which must not keep out the others."""


class SecretAsk(msgspec.Struct, frozen=True, tag="secret"):
    """A request to send a secret to a host that its owner has not named."""

    secret: str
    secret_id: str
    version: int
    host: str
    port: int


class CommandAsk(msgspec.Struct, frozen=True, tag="command"):
    """A command that needs a person's approval before it runs: exactly this argv, in this
    directory."""

    argv: tuple[str, ...]
    cwd: str


class HostAsk(msgspec.Struct, frozen=True, tag="host"):
    """A host that the sandbox was refused, in canonical spelling."""

    host: str
    port: int


class ToolAsk(msgspec.Struct, frozen=True, tag="tool"):
    """A call of a tool that needs a person's approval: exactly these arguments, as JSON with sorted
    keys."""

    tool: str
    arguments: str


Ask: TypeAlias = SecretAsk | CommandAsk | HostAsk | ToolAsk
"""The subjects of approvals."""


@dataclass(frozen=True, slots=True)
class Requester:
    """The origin of a request: a sandbox, and the request's own id in its runtime. With
    `beside_command` a command from outside ran then, or a terminal that is no agent's: its program
    may be what asked."""

    sandbox_id: SandboxId
    sandbox_name: str
    generation: int
    ask_id: str
    beside_command: bool = False


@dataclass(frozen=True, slots=True)
class Approval:
    """A request and its decision.

    `owner` decides: the owner of the secret or the sandbox. `until` is when a pending request or a
    grant ends, None while nothing ends it; `times` counts how often it was requested.
    """

    id: ApprovalId
    org_id: OrgId
    owner: PrincipalId
    requester: Requester
    ask: Ask
    asked_at: datetime
    until: datetime | None
    verdict: ApprovalState = ApprovalState.PENDING
    reach: GrantScope | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None
    times: int = 1


@dataclass(frozen=True, slots=True)
class ApprovalGrant:
    """A person's grant: its scope, its duration (None: the scope's own), and the digest of what was
    shown."""

    reach: GrantScope
    ttl: timedelta | None
    shown: str


def spelled_out(text: str, limit: int = MAX_SHOWN) -> str:
    """Return `text` cut to `limit` characters, with unsafe characters spelled out (`\\x1b`).

    Unsafe characters could move a cursor, turn the reading direction or hide. A cut is marked. A
    backslash doubles, so that a spelling cannot be imitated.
    """
    cut = text[:limit]
    shown = "".join(_escape(char) for char in cut)
    return shown if cut == text else f"{shown}… ({len(text) - limit} characters more)"


def shown_lines(approval: Approval) -> tuple[str, ...]:
    """Return the lines that a person is shown; every surface shows exactly these."""
    requester = approval.requester
    where = f"in sandbox {spelled_out(requester.sandbox_name)} ({requester.sandbox_id})"
    match approval.ask:
        case SecretAsk(secret, secret_id, version, host, port):
            return (
                f"Send secret {spelled_out(secret)} (version {version}, {secret_id})",
                f"to https://{_in_url(host)}:{port}",
                *_other_letters(host),
                where,
            )
        case HostAsk(host, port):
            reach = f"Let this sandbox connect to {_in_url(host)}:{port}"
            return (reach, *_other_letters(host), "from now on, until you revoke it", where)
        case CommandAsk(argv, cwd):
            words = (f"  {number}: {spelled_out(word)}" for number, word in enumerate(argv))
            return ("Run this command, word by word:", *words, f"at {spelled_out(cwd)}", where)
        case ToolAsk(tool, arguments):  # pragma: no branch - the cases are all
            # Whole: what is not shown is not approved.
            return (
                f"Call the tool {tool} with",
                f"  {spelled_out(arguments, len(arguments))}",
                where,
            )


def digest(approval: Approval) -> str:
    """Return the digest that binds a decision to what was shown: 64 hex digits.

    It covers the shown lines, this request, and all of the request's data (also where the shown
    text was cut).
    """
    parts = [approval.id, approval.requester.ask_id, str(approval.requester.generation)]
    match approval.ask:
        case SecretAsk(secret, secret_id, version, host, port):
            parts += ["secret", secret, secret_id, str(version), host, str(port)]
        case HostAsk(host, port):
            parts += ["host", host, str(port)]
        case CommandAsk(argv, cwd):
            parts += ["command", cwd, *argv]
        case ToolAsk(tool, arguments):  # pragma: no branch - the cases are all
            parts += ["tool", tool, arguments]
    parts += shown_lines(approval)
    return hashlib.sha256(_frame_parts(parts)).hexdigest()


def same_question(one: Approval, other: Approval) -> bool:
    """Report whether both request the same of the same person in the same sandbox."""
    return (
        one.ask == other.ask
        and one.owner == other.owner
        and one.requester.sandbox_id == other.requester.sandbox_id
    )


def grant_approval(approval: Approval, yes: ApprovalGrant, *, by: str, now: datetime) -> Approval:
    """Return the approval after a grant. Raises `Conflict` when it is not pending or not what was
    shown, `Invalid` for a scope it cannot have."""
    _check_open(approval, now)
    if yes.shown != digest(approval):
        raise Conflict(
            f"What you were shown is not what {approval.id} asks: look at it again.",
            code="not_as_shown",
        )
    if isinstance(approval.ask, CommandAsk | ToolAsk) and yes.reach is not GrantScope.ONCE:
        raise Invalid("it is approved once, as it was shown", field="for")
    if isinstance(approval.ask, CommandAsk) and yes.ttl is not None:
        raise Invalid("a command runs once, and at once: leave `ttl` out", field="ttl")
    if yes.ttl is not None and yes.ttl > MAX_TTL:
        raise Invalid(f"ttl is at most {MAX_TTL.days} days", field="ttl")
    if isinstance(approval.ask, HostAsk):
        return _granted_host(approval, yes, by=by, now=now)
    ttl = ONCE_LIFE if yes.ttl is None and yes.reach is GrantScope.ONCE else yes.ttl
    return replace(
        approval,
        verdict=ApprovalState.GRANTED,
        reach=yes.reach,
        until=None if ttl is None else now + ttl,
        decided_at=now,
        decided_by=by,
    )


def _granted_host(approval: Approval, yes: ApprovalGrant, *, by: str, now: datetime) -> Approval:
    """Return the approval of a host, which becomes a rule of its sandbox's network."""
    if yes.reach is not GrantScope.SANDBOX:
        raise Invalid("a host is approved for its sandbox: choose `sandbox`", field="for")
    if yes.ttl is not None:
        raise Invalid("a host is approved until that is revoked: leave `ttl` out", field="ttl")
    return replace(
        approval,
        verdict=ApprovalState.GRANTED,
        reach=yes.reach,
        until=None,
        decided_at=now,
        decided_by=by,
    )


def deny_approval(approval: Approval, *, by: str, now: datetime) -> Approval:
    """Return the approval after a denial; `until` is when the same may be requested again. Raises
    `Conflict`."""
    _check_open(approval, now)
    return replace(
        approval,
        verdict=ApprovalState.DENIED,
        until=now + (HOST_COOLDOWN if isinstance(approval.ask, HostAsk) else COOLDOWN),
        decided_at=now,
        decided_by=by,
    )


def revoke_approval(approval: Approval, *, reason: str, now: datetime) -> Approval:
    """Return the approval after its revocation. Raises `Conflict` when it is not granted."""
    if approval.verdict is not ApprovalState.GRANTED:
        raise Conflict(f"{approval.id} is {approval.verdict}: only a granted one can be revoked.")
    return replace(approval, verdict=ApprovalState.REVOKED, reason=reason, until=now)


def overtaken(approval: Approval, *, reason: str, now: datetime) -> Approval:
    """Return the approval after its subject changed or its time ran out; any that is not pending or
    granted is unchanged."""
    match approval.verdict:
        case ApprovalState.PENDING:
            return replace(approval, verdict=ApprovalState.EXPIRED, reason=reason, until=now)
        case ApprovalState.GRANTED:
            return replace(approval, verdict=ApprovalState.REVOKED, reason=reason, until=now)
        case (
            ApprovalState.USED
            | ApprovalState.DENIED
            | ApprovalState.REVOKED
            | ApprovalState.EXPIRED
        ):  # pragma: no branch
            return approval


def is_in_force(approval: Approval, now: datetime) -> bool:
    """Report whether a grant is still valid."""
    return approval.verdict is ApprovalState.GRANTED and not _is_expired(approval, now)


def late(approval: Approval, now: datetime) -> bool:
    """Report whether it ran out without a decision."""
    return approval.verdict is ApprovalState.PENDING and _is_expired(approval, now)


def silences(approval: Approval, now: datetime) -> bool:
    """Report whether it suppresses the same request: it is pending, or was denied recently."""
    return approval.verdict in (ApprovalState.PENDING, ApprovalState.DENIED) and not _is_expired(
        approval, now
    )


def has_room(approval: Approval, others: Sequence[Approval], now: datetime) -> bool:
    """Report whether a person can be asked once more, beside the open approvals of its sandbox."""
    mine = [one for one in others if one.requester.sandbox_id == approval.requester.sandbox_id]
    pending = [one for one in mine if one.verdict is ApprovalState.PENDING]
    hosts = [one for one in pending if isinstance(one.ask, HostAsk)]
    lately = [one for one in mine if now - one.asked_at < timedelta(minutes=1)]
    if isinstance(approval.ask, HostAsk) and len(hosts) >= MAX_HOSTS:
        return False
    return len(pending) < MAX_PENDING and len(lately) < MAX_PER_MINUTE


def check_host(host: str, port: int) -> HostAsk:
    """Return a host that may be requested: one that a network rule could name. Raises
    `Invalid`."""
    rule = read_rule(f"{host}:{port}")
    if rule.host != host or host.startswith("*."):
        raise Invalid("the host is not in its canonical spelling")
    return HostAsk(host, port)


def rule_of(ask: HostAsk) -> str:
    """Return the network rule that allows exactly this host and port."""
    return f"{ask.host}:{ask.port}"


def check_command(argv: Sequence[str], cwd: str) -> CommandAsk:
    """Return a command that may be requested. Raises `Invalid`."""
    if not 0 < len(argv) <= MAX_WORDS or any(len(word) > MAX_WORD for word in (*argv, cwd)):
        raise Invalid(f"a command has 1 to {MAX_WORDS} words of at most {MAX_WORD} characters")
    return CommandAsk(tuple(argv), cwd)


def _check_open(approval: Approval, now: datetime) -> None:
    if approval.verdict is not ApprovalState.PENDING:
        raise Conflict(f"{approval.id} is {approval.verdict} already.", code="already_decided")
    if late(approval, now):
        raise Conflict(f"{approval.id} is too old to be decided.", code="already_decided")


def _is_expired(approval: Approval, now: datetime) -> bool:
    return approval.until is not None and now >= approval.until


def _other_letters(host: str) -> tuple[str, ...]:
    """Return how a host reads whose name has letters beyond ASCII."""
    read = as_read(host)
    if read == host:
        return ()
    return (f"which reads {spelled_out(read)}, with letters that may look like others",)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _escape(char: str) -> str:
    if char == "\\":
        return "\\\\"
    return code_of(char) if is_unseen(char) or _misleads(char) else char


def _misleads(char: str) -> bool:
    """Report whether a character is an unusual space, or only changes the one before it."""
    variation = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    return variation or (char != " " and unicodedata.category(char) == "Zs")


def _frame_parts(parts: Sequence[str]) -> bytes:
    """Join parts unambiguously: each with its length before it."""
    raw = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(one).to_bytes(4, "big") + one for one in raw)
