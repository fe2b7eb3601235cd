"""Routes of the audit log: pages, an export, and a verification of the chain."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Depends, Query
from pydantic import AwareDatetime, BeforeValidator
from starlette.responses import Response

from atoll.domain.audit import AuditEntry, AuditFilter, Checkpoint
from atoll.domain.errors import Invalid
from atoll.domain.event import Gap
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.stream import check_stream
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.streams import NDJSON, Live, Write, stream_of
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.words.events import ActorKind

router = APIRouter(prefix="/v1/audit", tags=["audit"])

MAX_NUMBER: Final = 2**53


class AuditEntryView(ResponseModel):
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
    payload: dict[str, Any]
    previous: str
    hash: str


class AuditPage(ResponseModel):
    """Entries in their order. `next` is the following `after`. `previous` is the `before` of the
    entries before these, null when there are none. `gap` is the part after the requested number
    that is no longer kept; where its `to` is less than its `after`, the log was set back."""

    entries: list[AuditEntryView]
    next: int
    previous: int | None
    gap: Gap | None


class ChainCheckpointView(ResponseModel):
    """The place where the kept entries begin: the chain had this hash after entry `n`. `signature`
    is Ed25519 by the key `key_id`."""

    org_id: str
    n: int
    hash: str
    at: str
    key_id: str
    signature: str


class AuditVerdictView(ResponseModel):
    """The outcome of a verification: how many entries hold, the newest of them (`n`, `hash`), and
    what is wrong, null when the whole chain holds."""

    entries: int
    n: int
    hash: str
    wrong: str | None
    checkpoint: ChainCheckpointView | None
    public_key: str


def _check_spelled(text: object) -> object:
    """Check that a moment is no number, which would be read as seconds since 1970: whoever sends
    one means a place in the log. Raises `ValueError`."""
    if isinstance(text, str) and "-" not in text[1:]:
        raise ValueError("a moment is RFC 3339, as 2026-01-31T12:00:00Z; a number goes in `after`")
    return text


_Moment = Annotated[AwareDatetime, BeforeValidator(_check_spelled)]


async def _filter_of(
    actor: Annotated[str | None, Query(description="Of this actor's id.", max_length=200)] = None,
    kind: Annotated[str | None, Query(description="Kinds that begin so.", max_length=100)] = None,
    stream: Annotated[str | None, Query(description="Of this stream.", max_length=300)] = None,
    since: Annotated[_Moment | None, Query(description="From this moment on.")] = None,
    until: Annotated[_Moment | None, Query(description="Before this moment.")] = None,
) -> AuditFilter:
    if stream is not None:
        check_stream(stream)
    return AuditFilter(actor, kind, stream, _in_utc(since), _in_utc(until))


def _in_utc(at: datetime | None) -> datetime | None:
    # Years at either end of the calendar have no UTC in some zones.
    try:
        return None if at is None else at.astimezone(UTC)
    except OverflowError as err:
        raise Invalid("a moment of this calendar is needed", field="since") from err


Filtered = Annotated[AuditFilter, Depends(_filter_of)]


@router.get("", response_model=AuditPage, responses=problems())
@needs(Capability.AUDIT_READ)
async def list_audit(
    atoll: Atoll,
    caller: Caller,
    *,
    wanted: Filtered,
    after: Annotated[int | None, Query(ge=0, le=MAX_NUMBER)] = None,
    before: Annotated[int | None, Query(ge=0, le=MAX_NUMBER)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Return entries after a number in their order, or without one the newest, below `before`.

    With a filter the newest that fit are returned; `after` is of no use with it, or with `before`.
    Of a long log a request looks through 10000 entries: then there may be fewer than `limit`, and
    `previous` goes on.
    """
    if after is not None:
        if before is not None or not wanted.everything:
            raise Invalid(
                "`after` lists everything: leave out `before` and the filters, or `after`",
                field="after",
            )
        found = await atoll.audit.page(caller, after=after, limit=limit)
        gap = await atoll.audit.gap(caller, after=after)
        following = found[-1].n if found else after if gap is None else gap.to
        previous = found[0].n if found and found[0].n > 1 else None
        return Json({"entries": found, "next": following, "previous": previous, "gap": gap})
    matches = await atoll.audit.find(caller, wanted, before=before, limit=limit)
    following = matches.entries[-1].n if matches.entries else 0
    said = {"next": following, "previous": matches.previous, "gap": None}
    return Json({"entries": matches.entries, **said})


@router.get(
    "/export",
    response_model=None,
    responses={
        **stream_of(
            NDJSON, "A line with `org_id`, `checkpoint` and `public_key`, then one for each entry."
        ),
        **problems(),
    },
)
@needs(Capability.AUDIT_READ)
async def export_audit(atoll: Atoll, caller: Caller, *, wanted: Filtered) -> Response:
    """Return the whole audit log as JSON lines, which can be verified without a server. Of a
    filtered export each entry can be verified, and not that none is left out."""
    begin = await atoll.audit.beginning(caller)
    pages = atoll.audit.entries(caller, begin[0], wanted)
    return Live(lambda write: _export(caller, begin, pages, write=write), media_type=NDJSON)


@router.get("/verify", response_model=AuditVerdictView, responses=problems())
@needs(Capability.AUDIT_READ)
async def verify_audit(atoll: Atoll, caller: Caller) -> Response:
    """Follow the chain of the caller's organization from its beginning, or its checkpoint."""
    found = await atoll.audit.verify(caller)
    return Json(
        {
            "entries": found.verdict.entries,
            "n": found.verdict.n,
            "hash": found.verdict.hash,
            "wrong": found.verdict.wrong,
            "checkpoint": found.checkpoint,
            "public_key": found.public_key,
        }
    )


async def _export(
    caller: Principal,
    begin: tuple[Checkpoint | None, str],
    pages: AsyncIterator[list[AuditEntry]],
    *,
    write: Write,
) -> None:
    checkpoint, key = begin
    head = {"org_id": caller.org_id, "checkpoint": checkpoint, "public_key": key}
    await write(msgspec.json.encode(head) + b"\n")
    async for page in pages:
        if page:
            await write(_lines(page))


def _lines(page: list[AuditEntry]) -> bytes:
    return msgspec.json.Encoder().encode_lines(page)
