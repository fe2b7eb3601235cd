"""The audit log: pages of it, an export, and a verification of its chain.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.events import Gap
from atoll.client.transport import Pairs, Transport, get, query_of

ActorKind = Literal["adm", "agt", "atm"]


class AuditEntry(Shape):
    """An entry of the audit log. `n` counts from 1 in the organization. `hash` is SHA-256 over
    all other fields, of which `previous` is the hash of the entry before."""

    org_id = fields.text()
    n = fields.number()
    event_id = fields.text()
    event_type = fields.text()
    stream = fields.text()
    at = fields.text()
    actor_kind: Field[ActorKind] = fields.word()
    actor_id = fields.text()
    address = fields.text()
    request_id = fields.text()
    token_id = fields.text()
    reason = fields.text()
    payload = fields.one(Shape)
    previous = fields.text()
    hash = fields.text()


class AuditPage(Shape):
    """Entries in their order. `next` is the following `after`. `previous` is the `before` of the
    entries before these, null when there are none. `gap` is the part after the requested number
    that is no longer kept; where its `to` is less than its `after`, the log was set back."""

    entries = fields.many(AuditEntry)
    next = fields.number()
    previous = fields.number()
    gap = fields.one(Gap)


class ChainCheckpoint(Shape):
    """The place where the kept entries begin: the chain had this hash after entry `n`.
    `signature` is Ed25519 by the key `key_id`."""

    org_id = fields.text()
    n = fields.number()
    hash = fields.text()
    at = fields.text()
    key_id = fields.text()
    signature = fields.text()


class AuditVerdict(Shape):
    """The outcome of a verification: how many entries hold, the newest of them (`n`, `hash`),
    and what is wrong, null when the whole chain holds."""

    entries = fields.number()
    n = fields.number()
    hash = fields.text()
    wrong = fields.text()
    checkpoint = fields.one(ChainCheckpoint)
    public_key = fields.text()


class Audit:
    """The audit log of the caller's organization. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def page(
        self,
        *,
        actor: str | None = None,
        kind: str | None = None,
        stream: str | None = None,
        since: str | None = None,
        until: str | None = None,
        after: int | None = None,
        before: int | None = None,
        limit: int | None = None,
        query: Pairs = (),
    ) -> AuditPage:
        """Return entries after a number in their order, or without one the newest, below
        `before`. With a filter the newest that fit are returned; `after` is of no use with it,
        or with `before`. Of a long log a request looks through 10000 entries: then there may be
        fewer than `limit`, and `previous` goes on."""
        return self._transport.read(
            AuditPage,
            get(
                "audit",
                query=query_of(
                    actor=actor,
                    kind=kind,
                    stream=stream,
                    since=since,
                    until=until,
                    after=after,
                    before=before,
                    limit=limit,
                )
                + query,
            ),
        )

    def verify(self) -> AuditVerdict:
        """Follow the chain of the caller's organization from its beginning, or its checkpoint."""
        return self._transport.read(AuditVerdict, get("audit", "verify"))
