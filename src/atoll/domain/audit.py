"""The audit log: which events belong in it, and the hash chain that keeps it honest.

Pure. Each organization has a chain of its own. An entry's hash covers the entry and the hash
before it, so an entry cannot be changed, dropped or put in between without changing every later
hash. What retention drops is replaced by a signed checkpoint, where verification begins.

Canonical bytes are JSON in UTF-8 with sorted keys and no spaces; docs/run/audit.md gives them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from atoll.domain.event import Event, Json
from atoll.domain.ids import OrgId
from atoll.domain.people.principal import CallOrigin

BEGINNING = "0" * 64
"""The hash before the first entry of a chain."""

AUDITED_PREFIXES = (
    *("approval.", "auth.", "drive.", "host.", "member.", "org.", "profile.", "project."),
    *("network.bounded", "quota.", "route.", "safety.", "secret.", "share.", "ssh."),
    *("token.", "vault."),
)
AUDITED_KINDS = frozenset(
    {
        *("sandbox.requested", "sandbox.stopped", "sandbox.expired", "sandbox.failed"),
        *("sandbox.destroying", "sandbox.destroyed", "sandbox.pulled", "sandbox.ttl_extended"),
        *("sandbox.given", "sandbox.end_accepted", "network.switched"),
        *("recording.started", "recording.deleted"),
        *("agent.started", "agent.changed", "agent.ended", "agent.installed"),
        *("repository.fetched", "git.pushed", "git.synced", "git.pull_opened"),
        *("git.pull_updated", "git.pull_changed"),
        *("work.reviewed", "work.merged", "sandbox.archived", "sandbox.revived"),
        *("webhook.created", "webhook.changed", "webhook.removed", "webhook.rotated"),
        *("dashboard.share_created", "dashboard.share_revoked", "dashboard.share_entered"),
        *("webhook.tested", "webhook.replayed", "webhook.disabled"),
    }
)
"""Kinds, beside those that begin with a prefix above, that say who did what to what. What happens
inside a sandbox many times a minute (commands, input, requests at a door) is in the event log."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry of the audit log. `n` counts from 1 within the organization. `hash` covers all the
    rest and `previous`, the hash of the entry before."""

    org_id: OrgId
    n: int
    event_id: str
    event_type: str
    stream: str
    at: str
    actor_kind: str
    actor_id: str
    address: str
    request_id: str
    token_id: str
    reason: str | None
    payload: Mapping[str, Json]
    previous: str
    hash: str = ""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A choice: entries of one actor, of kinds that begin with a text, of one stream, and between
    two moments. None chooses nothing."""

    actor: str | None = None
    kind: str | None = None
    stream: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def everything(self) -> bool:
        """Report whether every entry fits."""
        return self == AuditFilter()

    def fits(self, entry: AuditEntry) -> bool:
        """Report whether an entry fits."""
        return (
            self.actor in (None, entry.actor_id)
            and entry.event_type.startswith(self.kind or "")
            and self.stream in (None, entry.stream)
            and (self.since is None or entry.at >= spell_time(self.since))
            and (self.until is None or entry.at < spell_time(self.until))
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A statement that the chain of an organization had this hash after entry `n`, made when the
    entries up to there were dropped. `signature` is Ed25519 over `signed_bytes`, by the key with
    this id; both are hexadecimal."""

    org_id: OrgId
    n: int
    hash: str
    at: str
    key_id: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a verification: how many entries hold, the head (`n` and `hash` of the last
    one), and the sentence that says what is wrong, None when all is right."""

    entries: int
    n: int
    hash: str
    wrong: str | None = None


def is_audited(event_type: str) -> bool:
    """Report whether events of this kind belong in the audit log."""
    return event_type in AUDITED_KINDS or event_type.startswith(AUDITED_PREFIXES)


def entry_of(event: Event, origin: CallOrigin | None, *, n: int, previous: str) -> AuditEntry:
    """Return the entry for an event, linked to the one before it."""
    came = origin or CallOrigin()
    return with_hash(
        AuditEntry(
            org_id=event.org_id,
            n=n,
            event_id=event.id,
            event_type=event.event_type,
            stream=event.stream,
            at=spell_time(event.at),
            actor_kind=event.actor_kind,
            actor_id=event.actor_id,
            address=came.address,
            request_id=came.request_id,
            token_id=came.token_id,
            reason=event.reason,
            payload=event.payload,
            previous=previous,
        )
    )


def spell_time(at: datetime) -> str:
    """Return a moment as entries spell it: ISO 8601, UTC, microseconds."""
    return at.isoformat(timespec="microseconds")


def with_hash(entry: AuditEntry) -> AuditEntry:
    """Return an entry with its hash: SHA-256 of its canonical bytes without the hash."""
    return replace(entry, hash=hashlib.sha256(canonical(fields_of(entry))).hexdigest())


def fields_of(entry: AuditEntry) -> dict[str, Json]:
    """Return what an entry's hash covers, by the names that exports use."""
    return {
        "org_id": entry.org_id,
        "n": entry.n,
        "event_id": entry.event_id,
        "event_type": entry.event_type,
        "stream": entry.stream,
        "at": entry.at,
        "actor_kind": entry.actor_kind,
        "actor_id": entry.actor_id,
        "address": entry.address,
        "request_id": entry.request_id,
        "token_id": entry.token_id,
        "reason": entry.reason,
        "payload": dict(entry.payload),
        "previous": entry.previous,
    }


def canonical(fields: Mapping[str, Json]) -> bytes:
    """Return JSON in one spelling: sorted keys, no spaces, UTF-8, lone surrogates escaped."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def signed_bytes(checkpoint: Checkpoint) -> bytes:
    """Return the bytes that a checkpoint's signature covers."""
    return b"atoll audit checkpoint\0" + canonical(
        {
            "org_id": checkpoint.org_id,
            "n": checkpoint.n,
            "hash": checkpoint.hash,
            "at": checkpoint.at,
            "key_id": checkpoint.key_id,
        }
    )


def verify(
    entries: Iterable[AuditEntry], begin: Checkpoint | None = None, *, org_id: OrgId
) -> Verdict:
    """Follow a chain from its beginning, or from a checkpoint whose signature was verified.

    Stops at the first entry that does not fit.
    """
    n, previous = (0, BEGINNING) if begin is None else (begin.n, begin.hash)
    count = 0
    for entry in entries:
        wrong = _fault(entry, n, previous, org_id=org_id)
        if wrong is not None:
            return Verdict(count, n, previous, wrong)
        n, previous, count = entry.n, entry.hash, count + 1
    return Verdict(count, n, previous)


def _fault(entry: AuditEntry, n: int, previous: str, *, org_id: OrgId) -> str | None:
    if entry.org_id != org_id:
        return f"entry {entry.n} belongs to another organization"
    if entry.n != n + 1:
        return f"entry {n + 1} is missing: {entry.n} follows {n}"
    if entry.previous != previous:
        return f"entry {entry.n} does not follow entry {n}: one of them was changed or replaced"
    if with_hash(entry).hash != entry.hash:
        return f"entry {entry.n} was changed: its hash does not fit"
    return None
