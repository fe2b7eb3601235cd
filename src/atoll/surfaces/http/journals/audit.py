"""Routes of the audit log: pages, an export, and a verification of the chain."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

import msgspec
from starlette.responses import Response

from atoll.domain.audit import AuditEntry, AuditFilter, Checkpoint
from atoll.domain.errors import Invalid
from atoll.domain.people.principal import Principal
from atoll.domain.stream import check_stream
from atoll.services.journals.audit import AuditSearch
from atoll.surfaces.http.body.streams import Live, Write
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import audit as api
from atoll.wire.api.audit import EVERY_ENTRY, Audit, AuditChoice
from atoll.wire.api.events import Gap
from atoll.wire.http.media_types import NDJSON

operations = Operations()

_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt _]\d\d:\d\d(?::\d\d(?:[.,]\d{1,30})?)?(?:[Zz]|[+-]\d\d:?\d\d)", re.ASCII
)


@operations.serves(Audit.page)
async def list_audit(
    context: RequestContext,
    *,
    wanted: AuditChoice = EVERY_ENTRY,
    after: int | None = None,
    before: int | None = None,
    limit: int = 100,
) -> api.AuditPage:
    choice = _filter_of(wanted)
    if after is None:
        matches = await context.atoll.audit.find(context.caller, choice, before=before, limit=limit)
        return _search_page(matches)
    if before is not None or not choice.everything:
        raise Invalid(
            "`after` lists everything: leave out `before` and the filters, or `after`",
            field="after",
        )
    entries = await context.atoll.audit.page(context.caller, after=after, limit=limit)
    gap = await context.atoll.audit.gap(context.caller, after=after)
    return api.AuditPage(
        entries=_views(entries),
        next=entries[-1].n if entries else after if gap is None else gap.to,
        previous=entries[0].n if entries and entries[0].n > 1 else None,
        gap=None if gap is None else answer_of(Gap, gap),
    )


@operations.streams(Audit.export)
async def export_audit(context: RequestContext, *, wanted: AuditChoice = EVERY_ENTRY) -> Response:
    caller, choice = context.caller, _filter_of(wanted)
    begin = await context.atoll.audit.beginning(caller)
    pages = context.atoll.audit.entries(caller, begin[0], choice)
    return Live(lambda write: _export(caller, begin, pages, write=write), media_type=NDJSON)


@operations.serves(Audit.verify)
async def verify_audit(context: RequestContext) -> api.AuditVerdictView:
    found = await context.atoll.audit.verify(context.caller)
    checkpoint = found.checkpoint
    return answer_of(
        api.AuditVerdictView,
        found.verdict,
        checkpoint=None if checkpoint is None else answer_of(api.ChainCheckpointView, checkpoint),
        public_key=found.public_key,
    )


def _filter_of(wanted: AuditChoice) -> AuditFilter:
    """Return the domain's filter. Raises `Invalid` for a stream or a moment that is none."""
    since, until = _moment(wanted.since, "since"), _moment(wanted.until, "until")
    if wanted.stream is not None:
        check_stream(wanted.stream)
    return AuditFilter(wanted.actor, wanted.kind, wanted.stream, since, until)


def _moment(text: str | None, field: str) -> datetime | None:
    """Return a moment in UTC. A number is none: whoever sends one means a place in the log."""
    if text is None:
        return None
    if not _MOMENT.fullmatch(text):
        raise Invalid(
            f"{field}: a moment is RFC 3339, as 2026-01-31T12:00:00Z; a number goes in `after`",
            field=field,
        )
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except ValueError as error:
        raise Invalid(f"{field}: Input should be a valid datetime", field=field) from error
    except OverflowError as error:
        # Years at either end of the calendar have no UTC in some zones.
        raise Invalid("a moment of this calendar is needed", field="since") from error


def _search_page(matches: AuditSearch) -> api.AuditPage:
    entries = matches.entries
    return api.AuditPage(
        entries=_views(entries),
        next=entries[-1].n if entries else 0,
        previous=matches.previous,
        gap=None,
    )


def _views(entries: list[AuditEntry]) -> list[api.AuditEntryView]:
    return [answer_of(api.AuditEntryView, entry) for entry in entries]


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
            await write(_encode_lines(page))


def _encode_lines(page: list[AuditEntry]) -> bytes:
    return msgspec.json.Encoder().encode_lines(page)
