"""Routes of marks, plain text, recordings and search."""

import os

from aiohttp import web

from atoll.domain.errors import Invalid
from atoll.domain.terminals.search_pattern import read_pattern
from atoll.runtime.api.attach import read_attach_request
from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import answer, query_flag, query_integer
from atoll.runtime.recordings.search import MAX_MATCHES, SearchQuery, ring_lines, search
from atoll.runtime.terminals.observer import Author
from atoll.wire.contract.recordings import MarkPage, RecordingList, Text

CAST = "application/x-asciicast"
PIECE_BYTES = 64 * 1024


def routes() -> list[web.RouteDef]:
    """Return the routes of marks, text, recordings and search."""
    return [
        web.get("/sessions/{id}/marks", _marks),
        web.get("/sessions/{id}/text", _read_text),
        web.post("/sessions/{id}/recording", _start),
        web.delete("/sessions/{id}/recording", _stop),
        web.get("/recordings", _list),
        web.get("/recordings/{id}", _read),
        web.delete("/recordings/{id}", _remove),
        web.get("/search", _search),
    ]


async def _marks(request: web.Request) -> web.Response:
    log = parts_of(request).terminals.get(request.match_info["id"]).marks
    since = query_integer(request, "since", 0)
    # A number that this log has not reached is another log's: everything is news.
    return answer(MarkPage(log.since(since if since <= log.seq else 0), log.seq, log.dropped))


async def _read_text(request: web.Request) -> web.Response:
    """Return the text of a terminal since an offset."""
    terminal = parts_of(request).terminals.get(request.match_info["id"])
    since, scrollback = query_integer(request, "since", 0), terminal.scrollback
    # An offset that the terminal has not reached is another terminal's: all is read, and cut.
    beyond = since > scrollback.end
    begin = 0 if beyond else since
    start, end = max(begin, scrollback.first_cut().offset), scrollback.ready
    lines = [line.text async for line in ring_lines(terminal, begin) if not line.alternate]
    text = "\n".join(lines) + ("\n" if lines else "")
    return answer(Text(text, min(start, end), end, cut=beyond or begin < start))


async def _start(request: web.Request) -> web.Response:
    terminal = parts_of(request).terminals.get(request.match_info["id"])
    arrival = read_attach_request(request)
    author = Author(arrival.principal, arrival.name, "")
    return answer(parts_of(request).recordings.start(terminal, author), 201)


async def _stop(request: web.Request) -> web.Response:
    return answer(parts_of(request).recordings.stop(request.match_info["id"]))


async def _list(request: web.Request) -> web.Response:
    return answer(RecordingList(parts_of(request).recordings.all()))


async def _remove(request: web.Request) -> web.Response:
    parts_of(request).recordings.remove(request.match_info["id"])
    return web.Response(status=204)


async def _read(request: web.Request) -> web.StreamResponse:
    """Return the file, redacted once more: a secret may have become known since."""
    fd = parts_of(request).recordings.read(request.match_info["id"])
    try:
        response = web.StreamResponse(headers={"Content-Type": CAST})
        await response.prepare(request)
        redactor = parts_of(request).redactions.stream()
        while data := os.read(fd, PIECE_BYTES):
            await response.write(redactor.feed(data))
        await response.write(redactor.flush())
        await response.write_eof()
        return response
    finally:
        os.close(fd)


async def _search(request: web.Request) -> web.Response:
    query = request.query.get("q", "")
    syntax = request.query.get("syntax", "literal")
    if syntax not in ("literal", "glob"):
        raise Invalid("syntax must be literal or glob", field="syntax")
    pattern = read_pattern(
        query, glob=syntax == "glob", match_case=query_flag(request, "match_case")
    )
    limit = query_integer(request, "limit", 100, most=MAX_MATCHES)
    wanted = SearchQuery(pattern, limit, request.query.get("session"))
    parts = parts_of(request)
    return answer(await search(wanted, parts.terminals, parts.recordings))
