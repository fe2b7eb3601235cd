"""The audit log: pages of it, an export, and a verification of its chain."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.events import Gap
from atoll.wire.api.fields import JsonObject, Moment
from atoll.wire.api.operation import Answer, Area, Parameters, Stream, operation
from atoll.wire.words.events import MAX_POSITION, MAX_STREAM_NAME, ActorKind

EntryNumber = Annotated[int, Meta(ge=0, le=MAX_POSITION)]
"""The number of an entry in its organization."""


class AuditChoice(Parameters):
    """The chosen entries. What is left out chooses nothing."""

    actor: Annotated[
        Annotated[str, Meta(max_length=200)] | None, Meta(description="Of this actor's id.")
    ] = None
    kind: Annotated[
        Annotated[str, Meta(max_length=100)] | None, Meta(description="Kinds that begin so.")
    ] = None
    stream: Annotated[
        Annotated[str, Meta(max_length=MAX_STREAM_NAME)] | None,
        Meta(description="Of this stream."),
    ] = None
    since: Annotated[Moment | None, Meta(description="From this moment on.")] = None
    until: Annotated[Moment | None, Meta(description="Before this moment.")] = None


EVERY_ENTRY = AuditChoice()


class AuditEntryView(Answer):
    """An entry of the audit log. `n` counts from 1 in the organization. `hash` is SHA-256 over all
    other fields, of which `previous` is the hash of the entry before."""

    org_id: str
    n: int
    event_id: str
    event_type: str
    stream: str
    at: str
    actor_kind: ActorKind
    actor_id: str
    address: str
    request_id: str
    token_id: str
    reason: str | None
    payload: JsonObject
    previous: str
    hash: str


class AuditPage(Answer):
    """Entries in their order. `next` is the following `after`. `previous` is the `before` of the
    entries before these, null when there are none. `gap` is the part after the requested number
    that is no longer kept; where its `to` is less than its `after`, the log was set back."""

    entries: list[AuditEntryView]
    next: int
    previous: int | None
    gap: Gap | None


class ChainCheckpointView(Answer):
    """The place where the kept entries begin: the chain had this hash after entry `n`. `signature`
    is Ed25519 by the key `key_id`."""

    org_id: str
    n: int
    hash: str
    at: str
    key_id: str
    signature: str


class AuditVerdictView(Answer):
    """The outcome of a verification: how many entries hold, the newest of them (`n`, `hash`), and
    what is wrong, null when the whole chain holds."""

    entries: int
    n: int
    hash: str
    wrong: str | None
    checkpoint: ChainCheckpointView | None
    public_key: str


class Audit(Area):
    """The audit log of the caller's organization."""

    tag = "audit"
    needs = "audit.read"

    @operation("GET /v1/audit", name="list_audit")
    def page(
        self,
        *,
        wanted: AuditChoice = EVERY_ENTRY,
        after: EntryNumber | None = None,
        before: EntryNumber | None = None,
        limit: Annotated[int, Meta(ge=1, le=1000)] = 100,
    ) -> AuditPage:
        """Return entries after a number in their order, or without one the newest, below `before`.

        With a filter the newest that fit are returned; `after` is of no use with it, or with
        `before`.
        Of a long log a request looks through 10000 entries: then there may be fewer than `limit`,
        and `previous` goes on.
        """

    @operation(
        "GET /v1/audit/export",
        name="export_audit",
        stream="application/x-ndjson",
        about="A line with `org_id`, `checkpoint` and `public_key`, then one for each entry.",
    )
    def export(self, *, wanted: AuditChoice = EVERY_ENTRY) -> Stream:
        """Return the whole audit log as JSON lines, which can be verified without a server. Of a
        filtered export each entry can be verified, and not that none is left out."""

    @operation("GET /v1/audit/verify", name="verify_audit")
    def verify(self) -> AuditVerdictView:
        """Follow the chain of the caller's organization from its beginning, or its checkpoint."""
